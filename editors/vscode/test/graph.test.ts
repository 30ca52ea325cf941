import assert from 'node:assert/strict';
import { test } from 'node:test';
import { page } from '../src/graph/page';
import { draw } from '../src/graph/shapes';

/** An element, as far as the script of the page knows one. */
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

/** The page's script in a page of its own: what it shows of a message, and what it tells of a click. */
function run(parsed: Element, message: { svg: string | null; failure: string | null }) {
    const main = new Element('main');
    const heard: Record<string, (event: unknown) => void> = {};
    const told: unknown[] = [];
    const listen = (event: string, answer: (event: unknown) => void) => (heard[event] = answer);
    const document = {
        createElement: (name: string) => new Element(name),
        createElementNS: (_: string, name: string) => new Element(name),
        querySelector: () => main,
        addEventListener: listen,
    };
    const Parser = class {
        parseFromString = () => ({ documentElement: parsed });
    };
    // As in the page: from its text, with nothing around it.
    const script = new Function('document', 'window', 'DOMParser', 'editor', `(${draw.toString()})(editor)`);
    script(document, { addEventListener: listen }, Parser, { postMessage: (place: unknown) => told.push(place) });
    heard['message']?.({ data: message });
    return { main, click: (target: Element) => heard['click']?.({ target }), told };
}

test('the policy of a page lets its own script run, and nothing be fetched', () => {
    const text = page('<f>', 'abc');
    assert.match(text, /content="default-src 'none'; style-src 'nonce-abc'; script-src 'nonce-abc'"/);
    assert.match(text, /<title>&lt;f&gt;<\/title>/);
    assert.equal(text.match(/<script/g)?.length, 1);
});

test('of a drawing, shapes and texts are taken, and nothing else', () => {
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

test('a click on a node tells its place', () => {
    const node = new Element('text', { 'data-file': '/m.py', 'data-line': '3' }, 'add');
    const { main, click, told } = run(new Element('svg', {}, [node]), { svg: 'drawing', failure: null });
    click(main.children[0]!.children[0]!);
    click(main.children[0]!);
    assert.deepEqual(told, [{ file: '/m.py', line: 3 }]);
});

test('what went wrong is shown as it was said, its places to click on', () => {
    const failure = 'error: <b>\n  File "/m.py", line 12, in f\n    x';
    const { main, click, told } = run(new Element('svg'), { svg: null, failure });
    assert.equal(main.textContent, failure);
    const place = main.children[0]!.children.find(child => child.tagName === 'a');
    click(place!);
    assert.deepEqual(told, [{ file: '/m.py', line: 12 }]);
});
