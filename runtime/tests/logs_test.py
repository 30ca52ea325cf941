"""The module `logging` in staged functions: each run writes the logs."""

import logging

import pytest
import torch
from oracle import t

import autograph as ag


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append((record.levelname, record.name, record.lineno, record.getMessage()))


@pytest.fixture
def log():
    logger = logging.getLogger("staged")
    logger.addHandler(handler := Kept())
    logger.setLevel(logging.INFO)
    yield logger, handler.records
    logger.removeHandler(handler)


def test_each_run_writes_the_logs(log):
    logger, records = log

    def step(x):
        loss = x.pow(2).mean()
        logger.info("loss %.3f of %s", loss, {"n": 2})
        logger.debug("not written: %s", loss)
        if loss > 4:
            logger.warning(f"large: {loss.item():.1f}")
        logger.log(logging.ERROR, "no arguments, 100 %")
        return loss

    found = []
    for function in (step, ag.function(step)):
        results = [function(t(k, 1)) for k in (1, 5, 2)]
        found.append((results, list(records)))
        records.clear()
    torch.testing.assert_close(found[1][0], found[0][0])
    assert found[1][1] == found[0][1] and len(found[0][1]) == 7


def test_the_level_is_that_of_the_run(log):
    logger, records = log
    staged = ag.function(lambda x: logger.info("sum %s", x.sum().item()))
    staged(t(1))
    logger.setLevel(logging.ERROR)
    staged(t(1))
    assert [message for *_, message in records] == ["sum 1.0"]


def test_a_traceback_is_refused(log):
    with pytest.raises(ag.StagingError, match="a log with a traceback"):
        ag.function(lambda x: log[0].error("%s", x, exc_info=True))(t(1))


def test_values_in_containers_and_exceptions(log):
    logger, records = log

    def step(x):
        logger.info("sums %s and %s", [x.sum()], {"mean": x.mean()})
        logger.info("%(loss).2f", {"loss": x.sum().item()})
        try:
            if x.sum() > 3:
                raise ValueError(f"sum {x.sum().item()}")
        except ValueError as error:
            logger.warning("skipped: %s", error)
        return x

    found = []
    for function in (step, ag.function(step)):
        for k in (1, 5, 2):
            function(t(k, 1))
        found.append(list(records))
        records.clear()
    assert found[1] == found[0] and len(found[0]) == 7
