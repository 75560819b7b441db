"""The table of formats, compared with docling's own."""

import pytest

from stackroom.formats import (
    RECORDINGS,
    SUFFIXES,
    Media,
    declared_media,
    docling_format,
    may_lack_suffix,
    supported_suffixes,
    usual_suffix,
)


def test_the_table_is_docling_s_plus_rst():
    from docling.datamodel.base_models import FormatToExtensions, InputFormat

    theirs = {suffix.lower() for suffixes in FormatToExtensions.values() for suffix in suffixes}
    assert supported_suffixes(recordings=True) == theirs | {"rst"}
    known = {docling_format(media) for media in Media} - {None}
    assert known == {form.value for form in InputFormat}
    # Suffixes that docling gives to several formats are told apart by content here.
    ambiguous = {"xml", "txt", "rst"}
    for suffix, media in SUFFIXES.items():
        if suffix not in ambiguous:
            assert suffix in {name.lower() for name in FormatToExtensions[InputFormat(docling_format(media))]}, suffix


def test_recordings_are_left_out_by_default():
    assert sorted(RECORDINGS) == [Media.AUDIO, Media.VIDEO]
    assert {"mp3", "mp4", "wav", "webm"}.isdisjoint(supported_suffixes())
    assert {"pdf", "docx", "tar.gz", "epub"} <= supported_suffixes()


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("a.pdf", Media.PDF),
        ("A.PDF", Media.PDF),
        ("trailing dot..pdf", Media.PDF),
        ("scan.tar.gz", Media.METS_GBS),
        ("scan.gz", None),
        ("x.dclg.xml", Media.XML_DOCLANG),
        ("x.v2.xml", Media.XML),
        ("pdf", None),
        ("no_extension", None),
        ("slides.ppsx", Media.PPTX),
        ("old.doc", Media.DOC_LEGACY),
        ("README.rst", Media.TEXT),
        (".pdf", Media.PDF),
    ],
)
def test_what_a_name_declares(name, media):
    assert declared_media(name) is media


def test_names_that_may_hide_a_pdf():
    assert [may_lack_suffix(name) for name in ("no_extension", "2301.00001v2", "end.")] == [True, True, True]
    assert not may_lack_suffix("photo.raw")


def test_a_usual_suffix_leads_back_to_its_kind():
    for media in Media:
        suffix = usual_suffix(media)
        assert suffix is None or declared_media(f"x.{suffix}") is media
