"""The picture in the README equals the current output of the binary."""

from pathlib import Path

import pictures


def test_picture_is_current(binary: Path):
    remedy = "run `tests/e2e/run --pictures`, and review the changes"
    assert pictures.PICTURE.read_text() == pictures.draw(binary), remedy
