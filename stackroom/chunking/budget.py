"""How much text fits below some headings, counted on exactly the string that is embedded."""

from dataclasses import dataclass
from functools import cached_property

from stackroom.artefacts import embedded_text
from stackroom.chunking.model import TokenCounter

CHARACTERS_PER_TOKEN = 16
"""Most characters of a chunk per token of the limit. Ordinary text has four; but some tokenizers make one unknown
token of a word of any length, and 100,000 characters of base64 are no chunk."""


@dataclass(frozen=True)
class Budget:
    """The token limit for text below given headings."""

    counter: TokenCounter
    max_tokens: int
    headings: tuple[str, ...]

    @cached_property
    def special(self) -> int:
        """Tokens the tokenizer adds to every text."""
        return self.counter.count("")

    @cached_property
    def room(self) -> int:
        """Tokens left for text; a guide, for tokens of joined texts need not add up. :meth:`fits` decides."""
        return max(1, self.max_tokens - self.counter.count(embedded_text(self.headings, "")))

    @cached_property
    def seam(self) -> int:
        """Tokens that joining two texts by a newline costs."""
        return max(0, self.counter.count("a\na") - 2 * self.counter.count("a") + self.special)

    def size(self, text: str) -> int:
        """Return the tokens of a text alone."""
        return self.counter.count(text) - self.special

    def embedded(self, text: str) -> int:
        """Return the tokens of what is embedded for a text, special tokens and headings included."""
        return self.counter.count(embedded_text(self.headings, text))

    def fits(self, text: str) -> bool:
        """Tell whether a text may be a chunk."""
        return len(text) <= self.max_tokens * CHARACTERS_PER_TOKEN and self.embedded(text) <= self.max_tokens
