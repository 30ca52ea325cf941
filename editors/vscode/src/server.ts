/**
 * Starts, stops and restarts the server.
 */
import { statSync } from 'node:fs';
import * as vscode from 'vscode';
import {
    LanguageClient,
    State,
    type LanguageClientOptions,
    type ServerCapabilities,
    type StaticFeature,
} from 'vscode-languageclient/node';
import { findBinary, type Binary } from './binary';
import { SCHEME } from './converted/uri';
import { environments } from './environments';
import { offerBinary } from './missing';
import { convertedDocumentChanged } from './protocol';
import type { StatusBar } from './statusBar';

const NOT_FOUND = 'no `ag-lsp` binary found in the Python environment, on the PATH, or in the extension';

/** The page of the walkthrough about installing the binary. */
const INSTALLATION = { category: 'ag-lsp.ag-lsp#start', step: 'ag-lsp.ag-lsp#start#binary' };

export class Server implements vscode.Disposable {
    /** The running client; undefined before the start and if no binary was found. */
    client: LanguageClient | undefined;
    /** The path of the binary that was started last. */
    binary: string | undefined;
    /** Serializes restarts: overlapping restarts would leak a server process. */
    private last: Promise<void> = Promise.resolve();

    constructor(
        private readonly extension: vscode.ExtensionContext,
        private readonly log: vscode.LogOutputChannel,
        private readonly statusBar: StatusBar,
        private readonly sourceChanged: (source: vscode.Uri) => Promise<void>,
    ) {}

    restart(): Promise<void> {
        this.last = this.last.then(async () => {
            await this.stop();
            await this.start();
        });
        return this.last;
    }

    async stop(): Promise<void> {
        const client = this.client;
        this.client = undefined;
        await client?.dispose().catch(error => this.log.warn(`the server did not stop in time: ${error}`));
    }

    dispose(): void {
        void this.stop();
    }

    private async start(): Promise<void> {
        const binary = await this.find();
        if (binary === undefined) {
            this.failed(NOT_FOUND);
            return;
        }
        this.binary = binary.path;
        this.log.info(`starting ${binary.path} (from the ${binary.origin})`);
        const start = { command: binary.path, args: ['server'] };
        const client = new LanguageClient('ag-lsp', 'ag-lsp', start, this.options());
        client.registerFeature(without(this.ownCommands()));
        client.onNotification(convertedDocumentChanged, ({ uri }) => this.sourceChanged(vscode.Uri.parse(uri)));
        client.onDidChangeState(({ newState }) => {
            const server = client.initializeResult?.serverInfo;
            this.statusBar.running(newState, binary, server && `${server.name} ${server.version ?? ''}`);
        });
        this.client = client;
        try {
            await client.start();
        } catch (error) {
            const reason = error instanceof Error ? error.message : String(error);
            this.failed(`${binary.path} did not start: ${reason}`);
        }
        if (client.state !== State.Running) {
            this.client = undefined;
        }
    }

    /** Shows the error, with buttons to install or configure the binary. */
    private failed(message: string): void {
        this.log.error(message);
        this.statusBar.failed(message);
        void offerBinary(
            {
                warn: (text, ...buttons) => vscode.window.showWarningMessage(text, ...buttons),
                showInstallation: () =>
                    vscode.commands.executeCommand('workbench.action.openWalkthrough', INSTALLATION, false),
                openPathSetting: () => vscode.commands.executeCommand('workbench.action.openSettings', 'ag-lsp.path'),
            },
            `ag-lsp: ${message}`,
        );
    }

    private async find(): Promise<Binary | undefined> {
        const trusted = vscode.workspace.isTrusted;
        return findBinary({
            setting: vscode.workspace.getConfiguration('ag-lsp').get('path', ''),
            environments: trusted ? await environments() : [],
            trusted,
            path: process.env['PATH'] ?? '',
            extension: this.extension.extensionPath,
            windows: process.platform === 'win32',
            isFile,
        });
    }

    private ownCommands(): string[] {
        const contributed: { command: string }[] = this.extension.extension.packageJSON.contributes.commands;
        return contributed.map(({ command }) => command);
    }

    private options(): LanguageClientOptions {
        return {
            documentSelector: [
                { scheme: 'file', language: 'python' },
                { scheme: 'untitled', language: 'python' },
                { scheme: 'vscode-notebook-cell', language: 'python' },
                { scheme: SCHEME, language: 'python' },
                { scheme: 'file', pattern: '**/{ag-lsp,pyproject}.toml' },
            ],
            initializationOptions: {
                ...vscode.workspace.getConfiguration('ag-lsp'),
                trusted: vscode.workspace.isTrusted,
            },
            outputChannel: this.log,
            traceOutputChannel: this.log,
        };
    }
}

/**
 * Removes commands from the server's capabilities. The language client registers every command in them, which fails for
 * commands that the extension has registered itself.
 */
function without(commands: string[]): StaticFeature {
    return {
        fillClientCapabilities: () => {},
        preInitialize: (capabilities: ServerCapabilities) => {
            const provider = capabilities.executeCommandProvider;
            if (provider !== undefined) {
                provider.commands = provider.commands.filter(command => !commands.includes(command));
            }
        },
        initialize: () => {},
        getState: () => ({ kind: 'static' }),
        clear: () => {},
    };
}

function isFile(path: string): boolean {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
