import assert from 'node:assert/strict';
import { test } from 'node:test';
import { page } from '../src/graph/page';
import { draw } from '../src/graph/shapes';

/** A minimal DOM element for the script of the page. */
class Element {
    properties = new Map<string, string>();
    children: Element[] = [];
    private text = '';

    constructor(
        readonly tagName: string,
        properties: Record<string, string> = {},
        content: Element[] | string = [],
    ) {
        this.properties = new Map(Object.entries(properties));
        this.append(...(typeof content === 'string' ? [content] : content));
    }

    get textContent(): string {
        return this.text + this.children.map(child => child.textContent).join('');
    }
    set textContent(text: string) {
        this.text = text;
    }
    get dataset(): Record<string, string> {
        const named = [...this.properties].filter(([name]) => name.startsWith('data-'));
        return Object.fromEntries(named.map(([name, value]) => [name.slice('data-'.length), value]));
    }
    getAttribute(name: string): string | null {
        return this.properties.get(name) ?? null;
    }
    setAttribute(name: string, value: string): void {
        this.properties.set(name, value);
    }
    append(...children: (Element | string)[]): void {
        this.children.push(...children.map(child => (typeof child === 'string' ? textNode(child) : child)));
    }
    replaceChildren(...children: Element[]): void {
        this.children = children;
    }
    closest(): Element {
        return this;
    }
    written(): string {
        const properties = [...this.properties].map(([name, value]) => ` ${name}="${value}"`).join('');
        const content = this.text + this.children.map(child => child.written()).join('');
        return this.tagName === '#text' ? this.text : `<${this.tagName}${properties}>${content}</${this.tagName}>`;
    }
}

function textNode(text: string): Element {
    const node = new Element('#text');
    node.textContent = text;
    return node;
}

/** Runs the page's script with a message. Returns the page's content, and records the messages it posts on clicks. */
function run(parsed: Element, message: { svg: string | null; failure: string | null }) {
    const main = new Element('main');
    const listeners: Record<string, (event: unknown) => void> = {};
    const posted: unknown[] = [];
    const listen = (event: string, listener: (event: unknown) => void) => (listeners[event] = listener);
    const document = {
        createElement: (name: string) => new Element(name),
        createElementNS: (_: string, name: string) => new Element(name),
        querySelector: () => main,
        addEventListener: listen,
    };
    const Parser = class {
        parseFromString = () => ({ documentElement: parsed });
    };
    // As in the page, the script is created from its text, without an enclosing scope.
    const script = new Function('document', 'window', 'DOMParser', 'editor', `(${draw.toString()})(editor)`);
    script(document, { addEventListener: listen }, Parser, { postMessage: (location: unknown) => posted.push(location) });
    listeners['message']?.({ data: message });
    return { main, click: (target: Element) => listeners['click']?.({ target }), posted };
}

test('the content security policy only allows the script and the style of the page', () => {
    const text = page('<f>', 'abc');
    assert.match(text, /content="default-src 'none'; style-src 'nonce-abc'; script-src 'nonce-abc'"/);
    assert.match(text, /<title>&lt;f&gt;<\/title>/);
    assert.equal(text.match(/<script/g)?.length, 1);
});

test('only shapes and texts of a drawing are copied', () => {
    const drawing = new Element('svg', { width: '9', onload: 'evil()' }, [
        new Element('script', {}, 'evil()'),
        new Element('style', {}, '@import url(evil)'),
        new Element('foreignObject', {}, [new Element('text', {}, 'evil')]),
        new Element('a', { href: 'javascript:evil()' }, [new Element('text', {}, 'evil')]),
        new Element('image', { href: 'https://evil' }),
        new Element('rect', { class: 'region', style: 'background: url(evil)', x: '1' }),
        new Element('text', { 'data-line': '3', onclick: 'evil()' }, [new Element('script', {}, 'a < b')]),
    ]);
    const { main } = run(drawing, { svg: 'drawing', failure: null });
    const shown = '<svg width="9"><rect class="region" x="1"></rect><text data-line="3">a < b</text></svg>';
    assert.equal(main.written(), `<main>${shown}</main>`);
});

test('a click on a node posts its source location', () => {
    const node = new Element('text', { 'data-file': '/m.py', 'data-line': '3' }, 'add');
    const { main, click, posted } = run(new Element('svg', {}, [node]), { svg: 'drawing', failure: null });
    click(main.children[0]!.children[0]!);
    click(main.children[0]!);
    assert.deepEqual(posted, [{ file: '/m.py', line: 3 }]);
});

test('an error message is shown verbatim, with links to source locations', () => {
    const failure = 'error: <b>\n  File "/m.py", line 12, in f\n    x';
    const { main, click, posted } = run(new Element('svg'), { svg: null, failure });
    assert.equal(main.textContent, failure);
    const link = main.children[0]!.children.find(child => child.tagName === 'a');
    click(link!);
    assert.deepEqual(posted, [{ file: '/m.py', line: 12 }]);
});
