/** The door for programs that try the browser, but render no pages, such as the doctor; `./browser-binary` finds it. */
export { type BrowserCheck, checkBrowser } from './render/browser/check-browser.ts'
export { SelectorBrowser } from './render/selector-browser.ts'
