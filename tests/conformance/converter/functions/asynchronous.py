"""Coroutines, run by a minimal event loop."""

from environment import *


async def waits(n):
    return await pause(n)


async def waits_in_branch(flag):
    if await pause(flag):
        value = await pause("then")
    else:
        value = await pause("else")
    return value


async def waits_in_loop(n):
    total = 0
    for i in range(n):
        total += await pause(i)
        if total > 5:
            break
    else:
        await pause("else")
    return total


async def waits_in_while(n):
    while await pause(n):
        n -= 1
        if n == 2:
            continue
        note("n", n)
    return n


async def async_for(n):
    seen = []
    async for i in ticks(n):
        if i == 1:
            continue
        if i == 3:
            break
        seen.append(i)
    else:
        seen.append("else")
    return seen


async def async_for_return(n):
    async for i in ticks(n):
        if i:
            return i


async def async_with(name):
    async with Guard(name) as size:
        note("inside", size)
        if size > 2:
            return "long"
    return "short"


async def async_with_swallows(value):
    async with Guard("g", True), Guard("h"):
        value = 1 // value
    return value


async def awaits_in_logic(a, b):
    return (await pause(a)) and (await pause(b)) or not await pause(a)


async def awaits_in_ternary(flag):
    return await pause("yes") if await pause(flag) else await pause("no")


async def awaits_in_chain(a, b, c):
    return (await pause(a)) < (await pause(b)) < (await pause(c))


async def awaits_in_arguments(a, b):
    return pick(await pause(a), *(await pause([b])), k=await pause(3))


async def awaits_in_comprehension(n):
    return [await pause(i) for i in range(n) if await pause(i % 2)], [i async for i in ticks(n)]


async def awaits_in_try(fail):
    try:
        await pause("before")
        if fail:
            raise Oops(await pause("argument"))
    except Oops as error:
        await pause("handler")
        return error.args
    finally:
        await pause("finally")
    return "fine"


async def awaits_in_match(value):
    match await pause(value):
        case 0:
            return await pause("zero")
        case n if await pause(n > 1):
            return n
    return None


async def awaits_in_f_string(n):
    return f"<{await pause(n)}>"


async def awaits_in_subscript(table):
    table[await pause("k")] = await pause(1)
    table[await pause("k")] += await pause(2)
    return table


async def gives(n):
    for i in range(n):
        if i % 2:
            continue
        yield await pause(i)


async def consumes(n):
    return [i async for i in gives(n) if i]


async def nested_coroutines(n):
    async def inner(k):
        if k:
            return k + await inner(k - 1)
        return 0

    return await inner(n)


async def gathers(n):
    total = 0

    async def worker(i):
        nonlocal total
        for _ in range(i):
            total += await pause(i)

    for i in range(n):
        await worker(i)
    return total


async def assertion(value):
    assert await pause(value), await pause("message")


class Resource:
    def __init__(self):
        self.open = False

    async def __aenter__(self):
        self.open = True
        return self

    async def __aexit__(self, *error):
        if error[0]:
            note("error", error[0].__name__)
        self.open = False
        return False

    async def read(self, n):
        while n:
            n -= await pause(1)
        return self.open


async def reads(n):
    async with Resource() as resource:
        inside = await resource.read(n)
    return inside, resource.open


async def fails_inside():
    async with Resource():
        raise Oops


async def possibly_unbound(flag):
    if await pause(flag):
        value = 1
    return value


def sync_driver(items):
    results = []
    for item in items:
        async def one():
            return await pause(item)

        results.append(drive(one()))
    return results


CALLS = [
    "drive(waits(3))", "drive(waits_in_branch(1))", "drive(waits_in_branch(Truth('t', False)))",
    "drive(waits_in_branch(Truth('t', None)))", "drive(waits_in_loop(3))", "drive(waits_in_loop(6))",
    "drive(waits_in_while(4))", "drive(async_for(2))", "drive(async_for(5))", "drive(async_for_return(3))",
    "drive(async_for_return(1))", "drive(async_with('ab'))", "drive(async_with('abc'))",
    "drive(async_with_swallows(1))", "drive(async_with_swallows(0))", "drive(awaits_in_logic(1, 0))",
    "drive(awaits_in_logic(0, 1))", "drive(awaits_in_ternary(1))", "drive(awaits_in_ternary(0))",
    "drive(awaits_in_chain(1, 2, 3))", "drive(awaits_in_chain(2, 1, 3))", "drive(awaits_in_arguments(1, 2))",
    "drive(awaits_in_comprehension(3))", "drive(awaits_in_try(True))", "drive(awaits_in_try(False))",
    "[drive(awaits_in_match(v)) for v in (0, 1, 2)]", "drive(awaits_in_f_string(3))", "drive(awaits_in_subscript({}))",
    "drive(awaits_in_subscript(None))", "drive(consumes(5))", "drive(nested_coroutines(3))", "drive(gathers(4))",
    "drive(assertion(1))", "drive(assertion(0))", "drive(reads(2))", "drive(fails_inside())",
    "drive(possibly_unbound(1))", "drive(possibly_unbound(0))", "sync_driver([1, 2])",
]
