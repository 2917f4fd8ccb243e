/** The door for programs that need the browser, but render no pages: the doctor, tests and benchmarks. */
export { type BrowserBinary, findBrowser } from './render/browser/browser-binary.ts'
export { type BrowserCheck, checkBrowser } from './render/browser/check-browser.ts'
export { SelectorBrowser } from './render/selector-browser.ts'
