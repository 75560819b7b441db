"""Random documents and filters: few fields and few values, so that they meet; all traps of types among them."""

from hypothesis import strategies as st

TEXTS = st.sampled_from(("a", "b", "ab", "B", "1")) | st.sampled_from(("", "True", "é", "a%", "a_b", "a b"))
NUMBERS = st.sampled_from((0, 1, 2, 1.0, 1.5, -0.5)) | st.sampled_from(
    (-1, 2.5, -0.0, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 1e300, 5e-324)
)
SCALARS = TEXTS | NUMBERS | st.booleans()
LISTS = st.lists(TEXTS, min_size=1, max_size=3)
FIELDS = st.sampled_from(("kind", "year", "tags", "a.b"))

METADATA = st.dictionaries(FIELDS, st.one_of(SCALARS, LISTS), max_size=4)

CONDITIONS = st.one_of(
    SCALARS,
    st.dictionaries(
        st.sampled_from(("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains")), SCALARS, min_size=1, max_size=2
    ),
    st.dictionaries(
        st.sampled_from(("$in", "$nin")), st.lists(SCALARS, min_size=1, max_size=4), min_size=1, max_size=1
    ),
)
LEAVES = st.dictionaries(FIELDS, CONDITIONS, min_size=1, max_size=1)
JOINED = st.recursive(
    LEAVES,
    lambda members: st.dictionaries(
        st.sampled_from(("$and", "$or")), st.lists(members, min_size=1, max_size=3), min_size=1, max_size=1
    ),
    max_leaves=5,
)
FILTERS = st.one_of(st.dictionaries(FIELDS, CONDITIONS, min_size=1, max_size=2), JOINED)
