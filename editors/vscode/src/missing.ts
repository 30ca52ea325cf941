/**
 * Offers ways to install or find the binary when there is none. Independent of VS Code.
 */
export interface Window {
    /** Shows a warning with buttons. Returns the chosen one. */
    warn(message: string, ...buttons: string[]): PromiseLike<string | undefined>;
    /** Shows how to install the binary. */
    showInstallation(): PromiseLike<unknown>;
    /** Opens the setting `ag-lsp.path`. */
    openPathSetting(): PromiseLike<unknown>;
}

export const INSTALL = 'Install';
export const SET_PATH = 'Set Path';

/** Shows `message` with both buttons, and performs the chosen action. */
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
