"""A fingerprint changes exactly when something the artefact depends on changes, and can say what."""

from stackroom.fingerprint import explain, fingerprint


def test_the_order_of_ingredients_does_not_matter():
    assert fingerprint("s", 1, a=1, b=[2]).digest == fingerprint("s", 1, b=[2], a=1).digest


def test_stage_version_and_every_ingredient_matter():
    base = fingerprint("s", 1, a=1).digest
    assert (
        len({base, fingerprint("t", 1, a=1).digest, fingerprint("s", 2, a=1).digest, fingerprint("s", 1, a="1").digest})
        == 4
    )


def test_the_explanation_names_what_changed():
    old, new = fingerprint("s", 1, max_tokens=256, text="x" * 64), fingerprint("s", 1, max_tokens=200, text="y" * 64)
    assert explain(old.ingredients, new.ingredients) == "max_tokens 256 → 200; text changed"
    assert explain(None, new.ingredients) == "first time"
    assert explain(old.ingredients, old.ingredients) == "nothing changed"
