"""Parts fit, are cut where a reader would cut, and cost few counts."""

from stackroom.chunking.splitter import longest_start, split_text


def words(text):
    return len(text.split())


def parts(text, room, count=words):
    ranges = split_text(text, count, lambda part: count(part) <= room, room)
    return [text[start:end] for start, end in ranges]


def test_sentences_are_kept_whole_where_they_fit():
    text = "One frog sat here. Two frogs sat (cf. Fig. 3 below). Three frogs of Smith et al. Sat here! Four sat."

    assert parts(text, 11) == [
        "One frog sat here. Two frogs sat (cf. Fig. 3 below).",
        "Three frogs of Smith et al. Sat here! Four sat.",
    ]


def test_lines_come_before_sentences_and_words_before_characters():
    assert parts("alpha beta. gamma\ndelta epsilon zeta", 4) == ["alpha beta. gamma", "delta epsilon zeta"]
    assert parts("aaaaaaaaaa", 4, count=len) == ["aaa", "aaa", "aaaa"]


def test_nothing_but_blanks_is_left_out():
    text = "  alpha  beta\n\ngamma. Delta, epsilon " * 40

    joined = "".join("".join(part.split()) for part in parts(text, 7))

    assert joined == "".join(text.split())


def test_a_text_is_counted_a_few_times_not_once_per_word():
    text = "Frogs croak at night. " * 5000
    counted = 0

    def count(part):
        nonlocal counted
        counted += len(part)
        return words(part)

    assert len(parts(text, 100, count)) == 200
    assert counted < 4 * len(text)


def test_an_accent_is_not_cut_from_its_letter():
    text = "e\u0301" * 30

    assert all(not part.startswith("\u0301") for part in parts(text, 7, count=len))


def test_the_longest_start_ends_at_a_word():
    assert longest_start("alpha beta gamma", lambda text: len(text) <= 12) == "alpha beta"
    assert longest_start("alpha", lambda text: False) == ""
