"""Strings: f-strings, all forms of literals, small algorithms on words."""

from environment import *


def formats(n, text):
    return f"{n} {n:>4} {n!r} {text!s:^7}|{text:*<5}|{n:0{4}d}"


def formats_with_logic(a, b):
    return f"{a and b} {a or b} {not a} {a if b else 'none'}"


def formats_calls(items):
    return f"{len(items)} {sorted(items)[0]!r} {', '.join(str(i) for i in items)}"


def formats_nested(width, value):
    return f"{f'{value}':>{width + 1 if width else 1}}"


def debug_format(x, y):
    return f"{x=} {x + y = } {y=!s} {x < y=}"


def debug_format_of_calls(x):
    return f"{abs(x)=} {x and 1 = :>4}"


def braces(x):
    return f"{{{x}}} {{}} {{x}}"


def multi_line(name):
    text = f"""
    Dear {name},
        see {'you' if name else 'nobody'}
    """
    if name:
        text += """
  indented
    more
"""
    return text


def concatenated(x):
    return "a" "b" f"{x}" "c" r"\n" f'{"q"}'


def continued(x):
    text = "one \
two"
    total = x + \
        1
    return text, total


def raw_and_bytes(flag):
    if flag:
        pattern = rb"\d+"
    else:
        pattern = r"\d+"
    return pattern


def joined_lines():
    return ("first "
            "second "
            # a comment inside
            "third")


def hash_in_string(x):
    if "#" in x:  # the real comment
        return x.split("#")[0]  # "quoted" comment
    return '# not a comment'


def old_formats(a, b):
    return "%s and %(no)s" % a if a is None else "%s-%d" % (a, b), "{0}{1}{0}".format(a, b), "{x.imag}".format(x=b)


def semicolons(x):
    y = x; y += 1; return y; y += 1


def one_liners(x):
    if x: y = 1; z = 2
    else: y = 3; z = 4
    for i in range(2): y += i; z -= i
    while z > 0: z -= 1
    else: y += 10
    try: y //= x
    except ZeroDivisionError: y = -1
    finally: note("y", y)
    with Guard("g") as g: y += g
    return y, z


def tabs(x):
	if x:
		return "tabbed"
	return "also tabbed"


def unicode_names(número):
    größe = número * 2
    if größe > 4:
        größe = "groß"
    return größe, "日本", "\N{BULLET}", "\U0001f600", "é"


def wide_characters_before_code(x):
    return "日本語" + str(x if x else "é") + "😀", x and "後"


def is_palindrome(text):
    letters = [c.lower() for c in text if c.isalnum()]
    left, right = 0, len(letters) - 1
    while left < right:
        if letters[left] != letters[right]:
            return False
        left += 1
        right -= 1
    return True


def caesar(text, shift):
    out = ""
    for c in text:
        if "a" <= c <= "z":
            out += chr((ord(c) - ord("a") + shift) % 26 + ord("a"))
        elif "A" <= c <= "Z":
            out += chr((ord(c) - ord("A") + shift) % 26 + ord("A"))
        else:
            out += c
    return out


def run_lengths(text):
    out = []
    i = 0
    while i < len(text):
        j = i
        while j < len(text) and text[j] == text[i]:
            j += 1
        out.append((text[i], j - i))
        i = j
    return out


def roman(n):
    out = ""
    for value, letters in [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]:
        while n >= value:
            out += letters
            n -= value
    return out


def from_roman(text):
    values = {"I": 1, "V": 5, "X": 10}
    total = 0
    for here, after in zip(text, [*text[1:], None]):
        if after is not None and values[here] < values[after]:
            total -= values[here]
        else:
            total += values[here]
    return total


def common_prefix(words):
    if not words:
        return ""
    prefix = words[0]
    for word in words[1:]:
        while not word.startswith(prefix):
            prefix = prefix[:-1]
            if not prefix:
                return ""
    return prefix


def wrap(text, width):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        lines.append(line)
    return lines


def anagrams(words):
    groups = {}
    for word in words:
        key = "".join(sorted(word))
        if key in groups:
            groups[key].append(word)
        else:
            groups[key] = [word]
    return [group for group in groups.values() if len(group) > 1]


def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def camel_to_snake(name):
    out = []
    for i, c in enumerate(name):
        if c.isupper() and i and not name[i - 1].isupper():
            out.append("_")
        out.append(c.lower())
    return "".join(out)


def matches_glob(text, pattern):
    if not pattern:
        return not text
    if pattern[0] == "*":
        return matches_glob(text, pattern[1:]) or bool(text) and matches_glob(text[1:], pattern)
    return bool(text) and pattern[0] in (text[0], "?") and matches_glob(text[1:], pattern[1:])


def word_count(text):
    counts = {}
    for line in text.splitlines():
        for word in line.split():
            word = word.strip(".,!").lower()
            if not word:
                continue
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


CALLS = [
    "formats(3, 'abc')", "formats('x', 'abc')", "formats_with_logic(1, 0)", "formats_with_logic(0, 2)",
    "formats_calls([3, 1])", "formats_calls([])", "formats_nested(4, 'a')", "formats_nested(0, 'a')",
    "debug_format(1, 2)", "debug_format_of_calls(-1)", "braces(1)", "multi_line('Ann')", "multi_line('')",
    "concatenated(1)", "continued(1)", "raw_and_bytes(1)", "raw_and_bytes(0)", "joined_lines()", "hash_in_string('a#b')",
    "hash_in_string('ab')", "old_formats('x', 2)", "old_formats(None, 2)", "semicolons(1)", "one_liners(1)",
    "one_liners(0)", "tabs(1)", "tabs(0)", "unicode_names(1)", "unicode_names(número=3)",
    "wide_characters_before_code(1)", "wide_characters_before_code(0)", "is_palindrome('A man, a plan: nalp a nam A')",
    "is_palindrome('ab')", "caesar('Hello, z!', 3)", "run_lengths('aabccc')", "run_lengths('')",
    "[roman(n) for n in (1, 4, 9, 14, 39)]", "[from_roman(t) for t in ('XIV', 'IX', 'III')]", "from_roman('MX')",
    "common_prefix(['flower', 'flow', 'flight'])", "common_prefix(['a', 'b'])", "common_prefix([])",
    "wrap('the quick brown fox jumps', 10)", "wrap('', 3)", "anagrams(['tea', 'eat', 'x'])", "levenshtein('kitten', 'sitting')",
    "levenshtein('', 'abc')", "camel_to_snake('someHTTPName')", "matches_glob('abcd', 'a*d')", "matches_glob('abc', 'a?')",
    "word_count('A b.\\na B, b!')",
]
