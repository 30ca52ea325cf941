"""Linear operators and solvers of lineax."""
import jax
import jax.numpy as jnp
import lineax as lx


def attempt(name, solve, *arguments):
    try:
        jax.jit(solve)(*arguments)
        jax.jit(jax.vmap(solve))(*[jnp.stack([argument] * 2) for argument in arguments])
        jax.jit(jax.jacfwd(solve))(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


matrix = jnp.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]])
vector = jnp.ones(3)
for solver in (lx.AutoLinearSolver(well_posed=True), lx.AutoLinearSolver(well_posed=None), lx.LU(), lx.QR(), lx.SVD(), lx.Cholesky(),
               lx.CG(rtol=1e-3, atol=1e-3), lx.NormalCG(rtol=1e-3, atol=1e-3), lx.BiCGStab(rtol=1e-3, atol=1e-3),
               lx.GMRES(rtol=1e-3, atol=1e-3), lx.Normal(lx.Cholesky())):
    def solve(matrix, vector, solver=solver):
        operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
        return lx.linear_solve(operator, vector, solver, throw=False).value

    attempt(solver, solve, matrix, vector)
for solver in (lx.Diagonal(), lx.AutoLinearSolver(well_posed=True)):
    attempt(solver, lambda d, v: lx.linear_solve(lx.DiagonalLinearOperator(d), v, solver).value, vector + 1, vector)
attempt("tridiagonal", lambda d, o, v: lx.linear_solve(lx.TridiagonalLinearOperator(d, o, o), v, lx.Tridiagonal()).value,
        vector * 4, vector[:2], vector)
attempt("triangular", lambda m, v: lx.linear_solve(
    lx.MatrixLinearOperator(jnp.tril(m), lx.lower_triangular_tag), v, lx.Triangular()).value, matrix, vector)


def algebra(matrix, vector):
    dense = lx.MatrixLinearOperator(matrix)
    jacobian = lx.JacobianLinearOperator(lambda x, args: x**2, vector)
    function = lx.FunctionLinearOperator(lambda x: 2 * x, jax.ShapeDtypeStruct((3,), jnp.float32))
    total = dense + 2 * jacobian - function
    composed = total @ lx.IdentityLinearOperator(jax.ShapeDtypeStruct((3,), jnp.float32))
    return (composed.mv(vector), composed.T.mv(vector), (-dense / 2).as_matrix(), lx.diagonal(dense), lx.linearise(jacobian).mv(vector),
            lx.materialise(function).as_matrix(), lx.tridiagonal(dense), lx.has_unit_diagonal(dense), lx.is_symmetric(composed))


attempt("algebra", algebra, matrix, vector)


def trees(a, b):
    tree = [[a, b], [b, a]]
    operator = lx.PyTreeLinearOperator(tree, [jax.ShapeDtypeStruct((), jnp.float32)] * 2)
    return lx.linear_solve(operator, [a, b], lx.AutoLinearSolver(well_posed=True)).value


attempt("trees", trees, jnp.array(2.0), jnp.array(1.0))
