"""The programs of the suites of image models: inference with batches of several sizes, and training steps."""

import suite
import torch


def inference(model, shape, stage):
    """Returns the results for batches of images of this shape."""
    model.eval()

    @stage
    def forward(x):
        return model(x)

    observed = []
    with torch.no_grad():
        for batch in (2, 2, 3):
            observed.append(suite.snapshot(forward(torch.randn(batch, *shape))))
    return observed


def stepped(model, loss_of, stage, batches):
    """Trains for a step with each batch. Returns the losses and the state after each. Trains with double precision, because
    batch normalization of a few elements amplifies rounding errors."""
    model.double()
    batches = torch.utils._pytree.tree_map(_double, batches)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    @stage
    def step(*batch):
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss

    observed = []
    for number, batch in enumerate(batches):
        suite.seed(number)
        observed.append(step(*batch).detach().clone())
        observed.append(suite.snapshot(dict(model.state_dict())))
    return observed


def _double(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
