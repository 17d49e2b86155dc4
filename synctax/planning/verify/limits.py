"""From where on a job differs too much from what it should be; without numpy, for `-h`."""

from typing import Final

DEFAULT_SLOW_SHARE: Final = 0.5
"""A group at less than half of what its siblings or a benchmark reach is slow: noise of net
bus bandwidth between healthy siblings was seen to be some 10 %."""

DEFAULT_BYTES_TOLERANCE: Final = 0.1
"""What a plan leaves out (embedding, logits, norms of gradients) is some percent."""
