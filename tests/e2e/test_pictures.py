"""The picture in the README shows what the binary prints today."""

from pathlib import Path

import pictures


def test_picture_is_current(binary: Path):
    remedy = "run `tests/e2e/run --pictures`, and read what has changed"
    assert pictures.PICTURE.read_text() == pictures.draw(binary), remedy
