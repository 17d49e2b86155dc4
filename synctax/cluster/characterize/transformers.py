"""Transformers of the MoSim paper's table I, layer by layer."""

from dataclasses import dataclass
from typing import Final

from synctax.cluster.characterize.layers import ACTIVATION, IN_ROWS, SUM, Tally

WIDER: Final = 4
"""Width of the MLP over that of the model, in all of these."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers of a transformer that all are alike.

    Parameters
    ----------
    layers, width, heads : int
    tokens : int
        That go through them, of a sample.
    scored : int
        Tokens that each of these attends to: all, as frameworks compute them where no
        fused kernel leaves out those that a mask hides.
    dropout : bool
        On the scores and on what is summed to the residual stream.
    key_bias : bool
        Whether the product that makes keys has a bias.
    crossed : int
        Tokens of an encoder that each layer attends to as well; 0: none.
    """

    layers: int
    width: int
    heads: int
    tokens: int
    scored: int
    dropout: bool = True
    key_bias: bool = True
    crossed: int = 0

    def add_to(self, tally: Tally) -> None:
        """Add the layers to a tally."""
        for _ in range(self.layers):
            self._attention(tally, self.tokens, self.scored)
            if self.crossed:
                self._attention(tally, self.crossed, self.crossed)
            hidden = WIDER * self.width
            tally.linear(self.width, hidden, rows=self.tokens)
            tally.moved += ACTIVATION * self.tokens * hidden
            tally.linear(hidden, self.width, rows=self.tokens)
            self._residual(tally)

    def _attention(self, tally: Tally, from_tokens: int, scored: int) -> None:
        h = self.width
        tally.linear(h, h, rows=self.tokens)
        tally.linear(h, h, rows=from_tokens, bias=self.key_bias)
        tally.linear(h, h, rows=from_tokens)
        tally.linear(h, h, rows=self.tokens)
        tally.multiply_adds += 2 * self.tokens * scored * h
        scores = self.heads * self.tokens * scored
        tally.moved += (IN_ROWS + ACTIVATION * self.dropout) * scores
        self._residual(tally)

    def _residual(self, tally: Tally) -> None:
        elements = self.tokens * self.width
        tally.parameters += 2 * self.width
        tally.moved += (SUM + IN_ROWS + ACTIVATION * self.dropout) * elements


def _norm(tally: Tally, tokens: int, width: int) -> None:
    tally.parameters += 2 * width
    tally.moved += IN_ROWS * tokens * width


def _losses(tally: Tally, elements: int) -> None:
    # softmax of the scores of words, and its gradient
    tally.moved += IN_ROWS * elements


def bert_base(tokens: int = 384, *, spans: bool = True) -> Tally:
    """BERT-base, uncased: Devlin et al. 2019, section 3.

    Parameters
    ----------
    tokens : int
        Of a sample; 384 is what the authors train SQuAD with.
    spans : bool
        With the head that SQuAD is trained with, which tells where an answer begins and
        ends; else with the pooler of pre-training.

    Examples
    --------
    >>> bert_base(spans=False).parameters
    109482240
    """
    width, words, positions, kinds = 768, 30_522, 512, 2
    tally = Tally(parameters=(words + positions + kinds) * width)
    _norm(tally, tokens, width)
    Stack(12, width, 12, tokens, tokens).add_to(tally)
    if spans:
        tally.linear(width, 2, rows=tokens)
    else:
        tally.linear(width, width)
    return tally


def gpt2(tokens: int = 512) -> Tally:
    """GPT-2, the smallest: Radford et al. 2019, table 2; its released code.

    Examples
    --------
    >>> gpt2().parameters
    124439808
    """
    width, words, positions = 768, 50_257, 1024
    tally = Tally(parameters=(words + positions) * width)
    Stack(12, width, 12, tokens, tokens).add_to(tally)
    _norm(tally, tokens, width)
    # the output layer is the table of words again
    tally.multiply_adds += tokens * width * words
    _losses(tally, tokens * words)
    return tally


_WHISPER: Final = {
    "tiny": (4, 384, 6),
    "base": (6, 512, 8),
    "small": (12, 768, 12),
    "medium": (24, 1024, 16),
    "large": (32, 1280, 20),
}
"""Layers, width, heads: Radford et al. 2022, table 1."""

WHISPER_FRAMES: Final = 3000
"""Of 30 s of sound."""


def whisper(size: str = "base", *, tokens: int = 448) -> Tally:
    """Whisper: Radford et al. 2022, section 2.2; its released code.

    Positions of the encoder are no parameters: they are sines that nobody trains.

    Parameters
    ----------
    size : str
    tokens : int
        Of the text of a sample; 448 at most.

    Examples
    --------
    74 M in the paper's table 1:

    >>> whisper("base").parameters
    71825920
    """
    layers, width, heads = _WHISPER[size]
    bands, words, positions = 80, 51_865, 448
    tally = Tally(parameters=(words + positions) * width)
    heard = WHISPER_FRAMES // 2
    for inputs, rows in ((bands, WHISPER_FRAMES), (width, heard)):
        tally.linear(3 * inputs, width, rows=rows)
        tally.moved += ACTIVATION * rows * width
    Stack(layers, width, heads, heard, heard, dropout=False, key_bias=False).add_to(tally)
    _norm(tally, heard, width)
    text = Stack(
        layers, width, heads, tokens, tokens, dropout=False, key_bias=False, crossed=heard
    )
    text.add_to(tally)
    _norm(tally, tokens, width)
    tally.multiply_adds += tokens * width * words
    _losses(tally, tokens * words)
    return tally
