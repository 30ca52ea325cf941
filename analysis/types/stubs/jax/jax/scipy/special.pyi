# jax.scipy.special of JAX 0.10.
from jax._array import Op

bernoulli: Op
bessel_jn: Op
beta: Op
betainc: Op
betaln: Op
boxcox: Op
boxcox1p: Op
comb: Op
dawsn: Op
digamma: Op
entr: Op
erf: Op
erfc: Op
erfcx: Op
erfinv: Op
exp1: Op
expi: Op
expit: Op
expn: Op
factorial: Op
fresnel: Op
gamma: Op
gammainc: Op
gammaincc: Op
gammaln: Op
gammasgn: Op
hyp1f1: Op
hyp2f1: Op
i0: Op
i0e: Op
i1: Op
i1e: Op
kl_div: Op
log_ndtr: Op
log_softmax: Op
loggamma: Op
logit: Op
logsumexp: Op
multigammaln: Op
ndtr: Op
ndtri: Op
owens_t: Op
poch: Op
polygamma: Op
rel_entr: Op
sici: Op
softmax: Op
spence: Op
sph_harm_y: Op
wofz: Op
xlog1py: Op
xlogy: Op
zeta: Op

def __getattr__(name: str) -> Op: ...
