/**
 * Opens converted code beside its source and highlights corresponding lines.
 *
 * The language client provides and refreshes the text through `workspace/textDocumentContent`.
 */
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import {
    convertedDocument,
    type Converted,
    type ConvertedParams,
    type ConvertedTarget,
    type Mapping,
    type View,
} from '../protocol';
import { matchingLines, type Side } from './matching';
import { otherView, parseQuery, SCHEME, sourcePath } from './uri';

/** State of an open converted document. */
interface OpenDocument {
    source: vscode.Uri;
    map: Mapping[];
}

export class ConvertedView implements vscode.Disposable {
    private readonly decoration = vscode.window.createTextEditorDecorationType({
        isWholeLine: true,
        backgroundColor: new vscode.ThemeColor('agLsp.matchingLineBackground'),
    });
    private readonly open = new Map<string, OpenDocument>();
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly client: () => LanguageClient | undefined) {
        this.subscriptions = [
            this.decoration,
            vscode.window.onDidChangeTextEditorSelection(event => this.highlight(event.textEditor)),
            vscode.window.onDidChangeVisibleTextEditors(() => this.highlightActive()),
            vscode.workspace.onDidCloseTextDocument(document => this.open.delete(document.uri.toString())),
            vscode.workspace.onDidChangeTextDocument(event => {
                if (event.document.uri.scheme === SCHEME) {
                    this.highlightActive();
                }
            }),
        ];
    }

    dispose(): void {
        vscode.Disposable.from(...this.subscriptions).dispose();
    }

    /** Opens the converted code of `target`, or of the function under the cursor. */
    async show(target?: ConvertedTarget): Promise<void> {
        const editor = vscode.window.activeTextEditor;
        const source = target === undefined ? editor?.document.uri : vscode.Uri.parse(target.uri);
        if (source === undefined || source.scheme === SCHEME) {
            void vscode.window.showInformationMessage('ag-lsp: open a Python file and move the cursor into a function.');
            return;
        }
        const response = await this.request(source, {
            view: target?.view ?? vscode.workspace.getConfiguration('ag-lsp', source).get<View>('convertedView'),
            ...(target === undefined ? { position: editor?.selection.active } : { function: target.function }),
        });
        if (response) {
            await this.present(source, response, vscode.ViewColumn.Beside, true);
        } else {
            void vscode.window.showInformationMessage('ag-lsp: no function at the cursor can be converted.');
        }
    }

    /** Switches the active editor between the simplified and the full view. */
    async switchView(): Promise<void> {
        const editor = vscode.window.activeTextEditor;
        if (editor?.document.uri.scheme !== SCHEME) {
            return;
        }
        const query = parseQuery(editor.document.uri.query);
        const source = this.sourceOf(editor.document.uri);
        const response = await this.request(source, { function: query.function, view: otherView(query.view) });
        if (response) {
            const replaced = vscode.window.tabGroups.activeTabGroup.activeTab;
            await this.present(source, response, editor.viewColumn, false);
            if (replaced !== undefined) {
                await vscode.window.tabGroups.close(replaced, true);
            }
        }
    }

    /** Updates the source maps of the converted documents of `source`. The language client updates their text. */
    async sourceChanged(source: vscode.Uri): Promise<void> {
        for (const [uri, open] of [...this.open]) {
            if (open.source.toString() === source.toString()) {
                const query = parseQuery(vscode.Uri.parse(uri).query);
                const response = await this.request(source, { function: query.function, view: query.view });
                open.map = response?.map ?? [];
            }
        }
        this.highlightActive();
    }

    private async request(
        source: vscode.Uri,
        selector: Omit<ConvertedParams, 'textDocument'>,
    ): Promise<Converted | null | undefined> {
        return this.client()?.sendRequest(convertedDocument, { textDocument: { uri: source.toString() }, ...selector });
    }

    private async present(
        source: vscode.Uri,
        response: Converted,
        viewColumn: vscode.ViewColumn | undefined,
        preserveFocus: boolean,
    ): Promise<void> {
        const uri = vscode.Uri.parse(response.uri);
        this.open.set(uri.toString(), { source, map: response.map });
        const document = await vscode.workspace.openTextDocument(uri);
        await vscode.window.showTextDocument(document, { viewColumn, preserveFocus, preview: false });
        this.highlightActive();
    }

    private sourceOf(converted: vscode.Uri): vscode.Uri {
        const open = this.open.get(converted.toString());
        return open?.source ?? converted.with({ scheme: 'file', path: sourcePath(converted.path), query: '' });
    }

    /** Renews the highlighting after a change of the visible editors or their text. */
    private highlightActive(): void {
        for (const editor of vscode.window.visibleTextEditors) {
            editor.setDecorations(this.decoration, []);
        }
        if (vscode.window.activeTextEditor !== undefined) {
            this.highlight(vscode.window.activeTextEditor);
        }
    }

    /** Highlights the cursor line of `editor` and the corresponding lines of the other editor. */
    private highlight(editor: vscode.TextEditor): void {
        const uri = editor.document.uri.toString();
        for (const other of vscode.window.visibleTextEditors) {
            const otherUri = other.document.uri.toString();
            if (this.open.get(uri)?.source.toString() === otherUri) {
                this.decorate(this.open.get(uri)?.map ?? [], 'generated', editor, other);
            } else if (this.open.get(otherUri)?.source.toString() === uri) {
                this.decorate(this.open.get(otherUri)?.map ?? [], 'original', editor, other);
            }
        }
    }

    private decorate(map: Mapping[], side: Side, from: vscode.TextEditor, to: vscode.TextEditor): void {
        const line = from.selection.active.line;
        const found = matchingLines(map, side, line);
        to.setDecorations(this.decoration, found.map(wholeLine));
        from.setDecorations(this.decoration, found.length === 0 ? [] : [wholeLine(line)]);
        const [first] = found;
        if (first !== undefined) {
            to.revealRange(wholeLine(first), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        }
    }
}

function wholeLine(line: number): vscode.Range {
    return new vscode.Range(line, 0, line, 0);
}
