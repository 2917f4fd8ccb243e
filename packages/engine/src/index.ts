/** The door of this package; `./browser-binary` finds the browser, `./browser` tries it alone. What is not listed here is internal. */
export { type Engine, type EngineOptions, startEngine } from './engine.ts'
