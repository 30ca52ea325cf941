"""The ways of a value through a list, dictionary or another container."""

CONTAINERS = {
    "list_append": """
@staged
def f(x):
    out = []
    for i in range(3):
        out.append(VALUE(x))
    return USE(out[0])
""",
    "list_last": """
@staged
def f(x):
    out = [0.0]
    out.append(VALUE(x))
    return USE(out[-1])
""",
    "comprehension": """
@staged
def f(x):
    out = [VALUE(x) for _ in range(3)]
    return USE(out[1])
""",
    "loop": """
@staged
def f(x):
    for v in [VALUE(x), VALUE(x)]:
        r = USE(v)
    return r
""",
    "enumerate": """
@staged
def f(x):
    for i, v in enumerate([VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "zip": """
@staged
def f(x):
    for a, v in zip([1, 2], [VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "dictionary": """
@staged
def f(x):
    d = {'a': VALUE(x), 'n': 3}
    return USE(d['a'])
""",
    "dictionary_item": """
@staged
def f(x):
    d = {}
    d['a'] = VALUE(x)
    return USE(d['a'])
""",
    "dict_items": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    for k, v in d.items():
        r = USE(v)
    return r
""",
    "dict_values": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    return [USE(v) for v in d.values()]
""",
    "dict_get": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    return USE(d.get('a', 0.0))
""",
    "dict_update": """
@staged
def f(x):
    d = {}
    d.update(a=VALUE(x))
    return USE(d['a'])
""",
    "dict_comp": """
@staged
def f(x):
    d = {k: VALUE(x) for k in 'ab'}
    return USE(d['a'])
""",
    "dict_call": """
@staged
def f(x):
    d = dict(a=VALUE(x))
    return USE(d['a'])
""",
    "keyword_parameters": """
def h(**kw):
    return USE(kw['a'])

@staged
def f(x):
    return h(a=VALUE(x))
""",
    "sum_generator": """
@staged
def f(x):
    return USE(sum(VALUE(x) for _ in range(3)))
""",
    "sum_list": """
@staged
def f(x):
    return USE(sum([VALUE(x), VALUE(x)]))
""",
    "deque": """
@staged
def f(x):
    q = collections.deque(maxlen=3)
    q.append(VALUE(x))
    return USE(q[0])
""",
    "defaultdict": """
@staged
def f(x):
    d = collections.defaultdict(list)
    d['a'].append(VALUE(x))
    return USE(d['a'][0])
""",
    "setdefault": """
@staged
def f(x):
    d = {}
    v = d.setdefault('a', VALUE(x))
    return USE(v)
""",
    "pop": """
@staged
def f(x):
    q = [VALUE(x)]
    return USE(q.pop())
""",
    "sorted_key": """
@staged
def f(x):
    q = sorted([(2, VALUE(x)), (1, VALUE(x))], key=lambda p: p[0])
    return USE(q[0][1])
""",
    "list_add": """
@staged
def f(x):
    q = [VALUE(x)] + [VALUE(x)]
    return USE(q[0])
""",
    "list_mul": """
@staged
def f(x):
    q = [VALUE(x)] * 3
    return USE(q[0])
""",
    "slice": """
@staged
def f(x):
    q = [VALUE(x), VALUE(x)][:1]
    return USE(q[0])
""",
    "reversed": """
@staged
def f(x):
    for v in reversed([VALUE(x)]):
        r = USE(v)
    return r
""",
    "chain": """
@staged
def f(x):
    for v in itertools.chain([VALUE(x)], [VALUE(x)]):
        r = USE(v)
    return r
""",
    "accumulate": """
@staged
def f(x):
    for v in itertools.accumulate([VALUE(x), VALUE(x)]):
        r = USE(v)
    return r
""",
    "transposed": """
@staged
def f(x):
    a, b = zip(*[(VALUE(x), 1), (VALUE(x), 2)])
    return USE(a[0])
""",
    "dictionary_copy": """
@staged
def f(x):
    d = {'a': VALUE(x)}
    e = dict(d)
    return USE(e['a'])
""",
    "dict_merge": """
@staged
def f(x):
    d = {**{'a': VALUE(x)}, 'b': 1}
    return USE(d['a'])
""",
    "dict_or": """
@staged
def f(x):
    d = {'a': VALUE(x)} | {'b': 1}
    return USE(d['a'])
""",
    "filled_list": """
def fill(out, y):
    out.append(VALUE(y))

@staged
def f(x):
    out = []
    fill(out, x)
    return USE(out[0])
""",
    "filled_dictionary": """
def fill(out, y):
    out['a'] = VALUE(y)

@staged
def f(x):
    out = {}
    fill(out, x)
    return USE(out['a'])
""",
    "dictionary_as_state": """
def upd(s, y):
    s = dict(s)
    s['t'] = s['t'] + VALUE(y)
    return s

@staged
def f(x):
    s = {'t': 0.0, 'n': 0}
    for i in range(3):
        s = upd(s, x)
    return USE(s['t'])
""",
}
