"""Lines a layout model overlooks become paragraphs; headings it takes for text become headings."""

from hypothesis import given
from hypothesis import strategies as st

from stackroom.conversion.stray_lines import TextLine, is_lone_heading, stray_regions

BOLD = "/ABCDEF+NimbusRomNo9L-Medi"


def line(text, left, top, width=100, height=10, font="/Times"):
    return TextLine(text, (left, top, left + width, top + height), font)


def test_lines_below_each_other_are_one_paragraph_and_columns_stay_apart():
    lines = [line("Received:", 0, 0), line("In May", 0, 12), line("Far right", 300, 0), line("After a gap", 0, 50)]
    assert [region.box for region in stray_regions(lines, [])] == [
        (0, 0, 100, 22),
        (300, 0, 400, 10),
        (0, 50, 100, 60),
    ]


def test_lines_under_a_region_are_left_alone():
    lines = [line("known", 0, 0), line("stray", 0, 100)]
    assert [region.box for region in stray_regions(lines, [(0, 0, 100, 12)])] == [(0, 100, 100, 110)]


def test_a_bold_numbered_line_is_a_heading_of_its_own():
    lines = [line("end of text", 0, 0), line("3.1 Traces", 0, 12, font=BOLD), line("A trace is a path", 0, 24)]
    assert [(region.box[1], region.is_heading) for region in stray_regions(lines, [])] == [
        (0, False),
        (12, True),
        (24, False),
    ]


def test_only_bold_print_of_a_known_form_is_a_heading():
    cases = {"Abstract": True, "REFERENCES": True, "2 Related work": True, "A. Proofs": True, "Tree Anchor": False}
    region = (0, 0, 100, 10)
    assert {text: is_lone_heading(region, [line(text, 0, 0, font=BOLD)]) for text in cases} == cases
    assert not is_lone_heading(region, [line("Abstract", 0, 0)])
    assert not is_lone_heading((0, 0, 100, 30), [line("Abstract", 0, 0, font=BOLD), line("We show", 0, 12)])


@given(st.lists(st.builds(line, st.just("x"), st.integers(0, 500), st.integers(0, 700)), max_size=30))
def test_every_stray_line_lies_in_exactly_its_own_region(lines):
    regions = stray_regions(lines, [])
    for one in lines:
        assert any(
            region.box[0] <= one.box[0]
            and region.box[1] <= one.box[1]
            and one.box[2] <= region.box[2]
            and one.box[3] <= region.box[3]
            for region in regions
        )
