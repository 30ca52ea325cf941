"""Optimal transport with ott: geometries, Sinkhorn with its variants, Gromov-Wasserstein, barycenters."""
import jax
import jax.numpy as jnp
import jax.random as jr
from ott.geometry import costs, epsilon_scheduler, geometry, grid, pointcloud
from ott.problems.linear import linear_problem
from ott.problems.quadratic import quadratic_problem
from ott.solvers.linear import acceleration, sinkhorn, sinkhorn_lr
from ott.solvers.quadratic import gromov_wasserstein

x, y = jr.normal(jr.PRNGKey(0), (6, 2)), jr.normal(jr.PRNGKey(1), (5, 2))


def attempt(name, run, *arguments):
    try:
        jax.jit(run)(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


for cost in (costs.SqEuclidean(), costs.Euclidean(), costs.PNormP(1.5), costs.Cosine(), costs.SqPNorm(1.5)):
    attempt(cost, lambda x, y, cost=cost: sinkhorn.Sinkhorn(max_iterations=20)(linear_problem.LinearProblem(
        pointcloud.PointCloud(x, y, cost_fn=cost, epsilon=0.1))).reg_ot_cost, x, y)
for options in ({"lse_mode": False}, {"momentum": acceleration.Momentum(value=1.2)}, {"anderson": acceleration.AndersonAcceleration()},
                {"recenter_potentials": True}, {"parallel_dual_updates": True}, {"threshold": 1e-2, "norm_error": 2}):
    attempt(options, jax.grad(lambda x, options=options: sinkhorn.Sinkhorn(max_iterations=20, **options)(
        linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1), tau_a=0.9)).reg_ot_cost), x)
for options in ({"batch_size": 2}, {"scale_cost": "mean"}, {"scale_cost": "max_cost"}, {"epsilon": epsilon_scheduler.Epsilon(0.1, init=2.0)}):
    def cloud(x, y, options=options):
        points = pointcloud.PointCloud(x, y, **options)
        return points.apply_kernel(jnp.ones(5), axis=1), points.apply_cost(jnp.ones(5), axis=1), points.mean_cost_matrix, points.median_cost_matrix

    attempt(options, cloud, x, y)
attempt("grid", lambda a: sinkhorn.Sinkhorn(max_iterations=10)(linear_problem.LinearProblem(
    grid.Grid(grid_size=(3, 3), epsilon=0.5), a=a)).reg_ot_cost, jnp.ones(9) / 9)
attempt("matrix", lambda m: sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geometry.Geometry(cost_matrix=m))).matrix, jnp.ones((4, 3)))
attempt("low rank", lambda x, y: sinkhorn_lr.LRSinkhorn(rank=2, max_iterations=20)(
    linear_problem.LinearProblem(pointcloud.PointCloud(x, y))).matrix, x, y)
attempt("gromov", lambda x, y: gromov_wasserstein.GromovWasserstein(linear_solver=sinkhorn.Sinkhorn(), epsilon=0.5, max_iterations=3)(
    quadratic_problem.QuadraticProblem(pointcloud.PointCloud(x), pointcloud.PointCloud(y))).primal_cost, x, y)
