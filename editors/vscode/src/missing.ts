/**
 * What the user is offered where no `ag-lsp` is found. Knows the offers, and nothing of VS Code.
 */
export interface Window {
    /** Shows a warning with buttons; answers with the one that was chosen. */
    warn(message: string, ...buttons: string[]): PromiseLike<string | undefined>;
    /** Shows how the binary is installed. */
    showInstallation(): PromiseLike<unknown>;
    /** Opens the setting `ag-lsp.path`. */
    openPathSetting(): PromiseLike<unknown>;
}

export const INSTALL = 'Install';
export const SET_PATH = 'Set Path';

/** Shows `message` with the two ways out, and goes the one that is chosen. */
export async function offerBinary(window: Window, message: string): Promise<void> {
    switch (await window.warn(message, INSTALL, SET_PATH)) {
        case INSTALL:
            await window.showInstallation();
            break;
        case SET_PATH:
            await window.openPathSetting();
            break;
    }
}
