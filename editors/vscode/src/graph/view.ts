/**
 * Shows the graph of a function beside its source: prompts for inputs, requests the drawing from the server, and
 * redraws it when the source is saved.
 */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { activeInterpreter } from '../environments';
import { graph, graphInputs, type Graph, type GraphTarget } from '../protocol';
import { ensureSaved, mayRun } from '../running';
import { page, type Shown, type SourceLocation } from './page';

interface OpenPanel {
    panel: vscode.WebviewPanel;
    target: GraphTarget & { inputs: string };
    /** Only the response to the last request is shown. */
    lastRequest: number;
}

export class GraphView implements vscode.Disposable {
    /** The open panels, by document and function. */
    private readonly open = new Map<string, OpenPanel>();
    private readonly subscription = vscode.workspace.onDidSaveTextDocument(document => this.saved(document.uri));

    constructor(private readonly client: () => LanguageClient | undefined) {}

    dispose(): void {
        this.subscription.dispose();
        for (const { panel } of [...this.open.values()]) {
            panel.dispose();
        }
    }

    /** Shows the graph of `target`, or of the function under the cursor. */
    async show(target?: Partial<GraphTarget>): Promise<void> {
        const client = this.client();
        const editor = vscode.window.activeTextEditor;
        const uri = target?.uri ?? editor?.document.uri.toString();
        if (client === undefined || uri === undefined || !mayRun() || !(await ensureSaved(vscode.Uri.parse(uri)))) {
            return;
        }
        const where = target?.function === undefined ? { position: editor?.selection.active } : { function: target.function };
        const proposed = await client.sendRequest(graphInputs, { textDocument: { uri }, ...where });
        if (!proposed) {
            void vscode.window.showInformationMessage('ag-lsp: no function with `@ag.function` or `@ag.convert` at the cursor.');
            return;
        }
        const inputs =
            target?.inputs ??
            (await vscode.window.showInputBox({
                title: `Graph of ${proposed.function}`,
                prompt: 'A tensor as its type (x=f32[32,10]), anything else as a Python literal (n=3). The program is imported and the function traced.',
                value: proposed.inputs,
                ignoreFocusOut: true,
            }));
        if (inputs !== undefined) {
            await this.draw(this.panel({ uri, function: proposed.function, inputs }));
        }
    }

    /** The panel of a function. Opens it if necessary. */
    private panel(target: GraphTarget & { inputs: string }): OpenPanel {
        const key = `${target.uri}::${target.function}`;
        const known = this.open.get(key);
        if (known !== undefined) {
            known.target = target;
            known.panel.reveal(undefined, true);
            return known;
        }
        const title = `Graph of ${target.function}`;
        const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
        const panel = vscode.window.createWebviewPanel('ag-lsp.graph', title, column, {
            enableScripts: true,
            localResourceRoots: [],
            // The drawing is sent only once. Without this option, a hidden panel would lose it.
            retainContextWhenHidden: true,
        });
        panel.webview.html = page(title, randomBytes(16).toString('hex'));
        panel.webview.onDidReceiveMessage((location: SourceLocation) => goTo(location));
        panel.onDidDispose(() => this.open.delete(key));
        const open = { panel, target, lastRequest: 0 };
        this.open.set(key, open);
        return open;
    }

    private async draw(open: OpenPanel): Promise<void> {
        const request = ++open.lastRequest;
        const python = await activeInterpreter(vscode.Uri.parse(open.target.uri));
        let response: Graph | Shown | null | undefined;
        try {
            response = await this.client()?.sendRequest(graph, { ...open.target, ...(python && { python }) });
        } catch (error) {
            response = { svg: null, failure: error instanceof Error ? error.message : String(error) };
        }
        // No response means that the request was cancelled: keep the current drawing.
        if (response && request === open.lastRequest) {
            await open.panel.webview.postMessage({ svg: response.svg, failure: response.failure } satisfies Shown);
        }
    }

    private saved(source: vscode.Uri): void {
        for (const open of this.open.values()) {
            if (open.target.uri === source.toString()) {
                void this.draw(open);
            }
        }
    }
}

/** Opens the source line of a node, preferably in an editor that already shows the file. */
async function goTo({ file, line }: SourceLocation): Promise<void> {
    if (typeof file !== 'string' || !Number.isInteger(line) || line < 1) {
        return;
    }
    const uri = vscode.Uri.file(file);
    const shown = vscode.window.visibleTextEditors.find(editor => editor.document.uri.toString() === uri.toString());
    const start = new vscode.Range(line - 1, 0, line - 1, 0);
    try {
        await vscode.window.showTextDocument(uri, { viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One, selection: start });
    } catch {
        void vscode.window.showInformationMessage(`ag-lsp: cannot open ${file}.`);
    }
}
