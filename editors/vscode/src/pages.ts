/**
 * Shows Markdown pages from the server (status, explanation of a function) in VS Code's preview.
 */
import * as vscode from 'vscode';

const SCHEME = 'ag-lsp-page';

export class Pages implements vscode.Disposable, vscode.TextDocumentContentProvider {
    private readonly texts = new Map<string, string>();
    private readonly changed = new vscode.EventEmitter<vscode.Uri>();
    private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
    readonly onDidChange = this.changed.event;

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.path) ?? '';
    }

    /** Opens or updates the page `title` beside the editor. */
    async show(title: string, markdown: string): Promise<void> {
        const uri = vscode.Uri.from({ scheme: SCHEME, path: `${title}.md` });
        this.texts.set(uri.path, withoutFileLinks(markdown));
        this.changed.fire(uri);
        await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
    }

    dispose(): void {
        vscode.Disposable.from(this.registration, this.changed).dispose();
    }
}

/** Replaces links to files by their text, because VS Code's preview does not support them. */
function withoutFileLinks(markdown: string): string {
    return markdown.replaceAll(/\[([^\]]*)\]\(file:[^)]*\)/g, '$1');
}
