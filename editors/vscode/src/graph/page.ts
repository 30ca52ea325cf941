/**
 * The HTML page in the panel of a graph. Independent of VS Code.
 *
 * The drawing comes from a process that executed user code, so it is untrusted. The page receives it as data, and the
 * page's script copies only known shapes and texts. The content security policy blocks other scripts and all requests.
 */
import { draw } from './shapes';

/** Message to the page. */
export interface Shown {
    /** The drawing; null if tracing failed. */
    svg: string | null;
    failure: string | null;
}

/** Message from the page: the user clicked on a source location. The line is 1-based. */
export interface SourceLocation {
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
<main>Tracing …</main>
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
