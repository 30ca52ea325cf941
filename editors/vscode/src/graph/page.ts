/**
 * What stands in the panel of a graph. Knows HTML, and nothing of VS Code.
 *
 * The drawing comes from a process that ran the user's code: it goes into the page as data, of which the page's own
 * script takes the shapes and texts that it knows, and nothing else. The policy of the page lets nothing else run or
 * be fetched.
 */
import { draw } from './shapes';

/** What the page is told. */
export interface Shown {
    /** The drawing, or what was said where there is none. */
    svg: string | null;
    failure: string | null;
}

/** What the page tells: a place in a file, the line counted from one. */
export interface Place {
    file: string;
    line: number;
}

export function page(title: string, nonce: string): string {
    const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
    return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped(title)}</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main>Staging …</main>
<script nonce="${nonce}">(${draw.toString()})(acquireVsCodeApi());</script>
</body>
</html>`;
}

export function escaped(text: string): string {
    return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const STYLE = `
text { font: 12px var(--vscode-editor-font-family, monospace); fill: var(--vscode-editor-foreground); white-space: pre }
.head { font-weight: bold }
.label, .param { fill: var(--vscode-symbolIcon-variableForeground, var(--vscode-charts-purple)) }
.end { fill: var(--vscode-descriptionForeground) }
.source { fill: var(--vscode-charts-green) }
.region { fill: var(--vscode-descriptionForeground); fill-opacity: .06; stroke: var(--vscode-panel-border) }
.use { fill: none; stroke: var(--vscode-charts-blue); stroke-opacity: .35 }
[data-line] { cursor: pointer }
text[data-line]:hover { text-decoration: underline }
pre { font-family: var(--vscode-editor-font-family, monospace); white-space: pre-wrap }
pre a { color: var(--vscode-textLink-foreground); cursor: pointer; text-decoration: underline }
`;
