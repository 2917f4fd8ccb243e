/** The door of this package; `./browser` finds and tries the browser alone. What is not listed here is internal. */
export { type Engine, type EngineOptions, startEngine } from './engine.ts'
