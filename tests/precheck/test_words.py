# ruff: noqa: E501, RUF001 - samples of many scripts, one to a line
"""Language must not be taken for gibberish, in any script; gibberish of known making must be found."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.config import OcrSettings
from stackroom.precheck.decision import PageEvidence, decide_page
from stackroom.precheck.words import text_quality

ENGLISH = (
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and "
    "should act towards one another in a spirit of brotherhood. "
) * 6

LANGUAGES = {
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Angstschweiß, Donaudampfschifffahrt.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité. L'été dernier, où étiez-vous ? Çà et là.",
    "Czech": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Strč prst skrz krk. Čtvrtek, smršť.",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności. Chrząszcz brzmi w trzcinie.",
    "Finnish": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Hääyöaie on pitkä sana.",
    "Hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek ésszel bírnak.",
    "Turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.",
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người.",
    "Spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos. ¿Cómo está? ¡Qué año!",
    "Catalan": "Tots els éssers humans neixen lliures i iguals en dignitat i en drets. Col·legi, intel·ligència.",
    "Welsh": "Genir pawb yn rhydd ac yn gydradd â'i gilydd mewn urddas a hawliau. Cwmwl, crwth, cwtsh, pwll.",
    "Icelandic": "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Menn eru gæddir vitsmunum.",
    "Croatian": "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima. Trg, crkva, Hrvatska.",
    "Hawaiian": "Hānau kū‘oko‘a ‘ia nā kānaka apau loa, a ua kau like ka hanohano a me nā pono kīvila ma luna.",
    "Hausa": "Su dai yan adam, ana haifuwarsu ne duka yantattu. Suna da hankali, ɗan ƙasa, ɓauna, ƴan uwa.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "Russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. IT-специалист, взгляд.",
    "Arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق، وقد وهبوا عقلًا وضميرًا.",
    "Hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. צה״ל",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。DNA测序技术，使用Python编程、“引号”。",
    "Japanese": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。コンピューター・APIの例。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. API를 사용한다.",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "Georgian": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "Armenian": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
    "Tamil": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும் சமமானவர்கள்.",
    "Amharic": "የሰው፡ልጅ፡ሁሉ፡ሲወለድ፡ነጻና፡በክብርና፡በመብትም፡እኩልነት፡ያለው፡ነው።",
    "phonetics": "The word is pronounced ˈwɔːtə or ˈwɑːɾɚ in American English, ðə ˈkwɪk ˈbraʊn ˈfɒks ˈdʒʌmps.",
    "mathematics": "Let f: ℝⁿ → ℝ be convex; then ∀x,y ∈ ℝⁿ, f(λx + (1−λ)y) ≤ λf(x) + (1−λ)f(y). argmax Σxᵢ, TNFα, μm, H₂O.",
    "code": "def get_textRange(self, fooBar=None): return {k: v[0] for k, v in self.__dict__.items()} \\usepackage{amsmath}",
    "addresses": "See https://doi.org/10.1093/nar/27.2.573 and https://github.com/some/repo.git, or write to me@example.org.",
    "references": "[12] J. Smith et al., Phys. Rev. Lett. 98, 010401 (2007); [13] K. Brown, Nucl. Acids Res. 27(2):573-580.",
    "contents": "1 Introduction ................................................ 5\n2 Methods ........................ 17",
    "numbers": "12.5 ± 0.3 | 1,204 | 0.001 | 99.9 % | 2020-01-01 | n = 48 | p < 0.05 | 3.14 | 17 | 23 | 42",
    "DNA": "ACGTTGCAACGTAGCTAGCT GGCATTAGCCATGCATGCAT TTAGCATCGATCGATCAGCT CCGATTAGCATCGACTAGCA",
}


def verdict(text):
    return decide_page(PageEvidence(1, text_quality(text)), OcrSettings(min_page_characters=10))


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_is_kept(language):
    # Once as a few lines and once as a full page, where the rhythm of the letters is looked at too.
    for repeats in (1, 12):
        page = verdict(f"{LANGUAGES[language]}\n" * repeats)
        assert not page.garbled, page.reason
        assert page.implausible_share <= 0.3


def shifted(text, by):
    return "".join(char if char.isspace() else chr(ord(char) + by) for char in text)


@pytest.mark.parametrize("by", [-29, 3, 29, 31, 100, 0xF000])
def test_shifted_text_is_found(by):
    assert verdict(shifted(ENGLISH, by)).garbled


@pytest.mark.parametrize("language", ["Russian", "Greek", "Japanese", "Chinese"])
def test_text_in_the_wrong_encoding_is_found(language):
    wrong = LANGUAGES[language].encode("utf-8").decode("latin-1")
    assert verdict(wrong).garbled


def test_most_shuffled_alphabets_are_found():
    prose = (
        "The stage reads a file, writes an artefact, and says which settings it was made for. When nothing has changed "
        "there is nothing to do; when a limit, a model or the text itself is new, the work is done again from there "
        "on. A broken page costs that page, a broken file costs that file, and neither stops the others. People who "
        "keep many documents know how often a scan hides among printed pages, how a copied table turns into noise, "
        "and how a font without a map looks perfect on paper while every letter behind it is wrong. "
    )
    found = 0
    for seed in range(100):
        letters = list(string.ascii_lowercase)
        random.Random(seed).shuffle(letters)
        table = str.maketrans(string.ascii_letters, "".join(letters) + "".join(letters).upper())
        found += verdict(prose.translate(table)).garbled
    assert found >= 75


def test_private_use_characters_throughout_are_found_but_bullets_are_not():
    assert verdict("\ue001\ue002\ue003 \ue004\ue005 \ue006\ue007\ue008" * 9).garbled
    bullets = "\uf0b7 first point of the list\n\uf0b7 second point of the list\n"
    assert verdict(bullets).implausible_share == 0.0


def test_a_hyphen_at_a_line_end_is_not_odd():
    quality = text_quality("spectrofluor\ufffeophotometer")
    assert (quality.odd_characters, quality.implausible_words) == (0, 0)


def test_counts_of_a_plain_sentence():
    quality = text_quality("The cat sat on\x00 2 mats.")
    assert (quality.characters, quality.odd_characters) == (18, 1)
    assert (quality.words, quality.implausible_words) == (5, 1)  # The cat sat on\0 mats


@given(st.text(max_size=300))
def test_counts_are_consistent_for_any_text(text):
    quality = text_quality(text)
    assert quality.characters == len("".join(text.split()))
    assert 0 <= quality.odd_characters <= quality.characters
    assert 0 <= quality.implausible_words <= quality.words
    for share in (quality.odd_share, quality.implausible_share, quality.latin_share, quality.sign_share):
        assert 0.0 <= share <= 1.0
