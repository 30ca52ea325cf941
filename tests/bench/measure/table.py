"""Markdown tables."""


def show(title, columns, rows):
    print(f"### {title}\n")
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
    print(flush=True)
