/**
 * The status bar item: the state and the version of the server.
 */
import * as vscode from 'vscode';
import { State } from 'vscode-languageclient/node';
import type { Binary } from './binary';

export class StatusBar implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem('ag-lsp', vscode.StatusBarAlignment.Right, 90);

    constructor() {
        this.item.name = 'ag-lsp';
        this.item.command = 'ag-lsp.status';
        this.item.show();
    }

    running(state: State, binary: Binary, version: string | undefined): void {
        const icon = { [State.Running]: '$(check)', [State.Starting]: '$(sync~spin)', [State.StartFailed]: '$(error)' };
        this.item.text = `${icon[state as keyof typeof icon] ?? '$(circle-slash)'} ag-lsp`;
        this.item.backgroundColor =
            state === State.Running || state === State.Starting
                ? undefined
                : new vscode.ThemeColor('statusBarItem.errorBackground');
        this.item.tooltip = this.tooltip(`${version ?? 'ag-lsp'} from the ${binary.origin}: \`${binary.path}\``);
    }

    failed(message: string): void {
        this.item.text = '$(error) ag-lsp';
        this.item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
        this.item.tooltip = this.tooltip(message);
    }

    dispose(): void {
        this.item.dispose();
    }

    private tooltip(line: string): vscode.MarkdownString {
        const commands = { Restart: 'ag-lsp.restart', Logs: 'ag-lsp.showLogs', Status: 'ag-lsp.status' };
        const links = Object.entries(commands).map(([title, command]) => `[${title}](command:${command})`);
        const tooltip = new vscode.MarkdownString(`${line}\n\n${links.join(' · ')}`);
        tooltip.isTrusted = { enabledCommands: Object.values(commands) };
        return tooltip;
    }
}
