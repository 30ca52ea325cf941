"""Rollouts of the environments of gymnax, under jit, vmap and scan."""
import gymnax
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)
for name in gymnax.registered_envs:
    try:
        environment, parameters = gymnax.make(name)

        def step(carry, _):
            key, state = carry
            key, choice, dynamics = jax.random.split(key, 3)
            action = environment.action_space(parameters).sample(choice)
            observation, state, reward, done, info = environment.step(dynamics, state, action, parameters)
            return (key, state), reward

        @jax.jit
        def rollout(key):
            observation, state = environment.reset(key, parameters)
            return jax.lax.scan(step, (key, state), None, length=3)[1]

        rollout(key)
        jax.vmap(rollout)(jnp.stack([key, key]))
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)
