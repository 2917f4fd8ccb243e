import type { Config } from '../../src/config.ts'

/** One option of a command. */
export type OptionSpec = {
  /** Stands for the value in the help; null: the option is a switch. */
  value: string | null
  text: string
  required?: boolean
  /** May be given several times. */
  many?: boolean
}

type OperandSpec = { name: string; text: string }

/** What a command made of its arguments hands back; nothing else is printed on stdout. */
export type Result = {
  /** The one object that `--json` prints. */
  json: Record<string, unknown>
  /** What a person reads; ends without a line break. */
  text: string
  /** 0 when left out. A command that did its work and found a problem says 1. */
  exitCode?: number
}

/** What every command is handed besides its own arguments. */
export type Surroundings = {
  config: Config
  /** `--json` was given: nobody reads along, so nothing may be asked or drawn. */
  json: boolean
  /** A line for the person at the terminal, on stderr. */
  say(line: string): void
}

type Options = Readonly<Record<string, OptionSpec>>

/** Required options are strings, others string or null, repeatable ones lists, switches booleans. */
export type Values<O extends Options> = {
  [K in keyof O]: O[K]['value'] extends null
    ? boolean
    : O[K] extends { many: true }
      ? readonly string[]
      : O[K] extends { required: true }
        ? string
        : string | null
}

export type Command = {
  options: Options
  operand: OperandSpec | null
  run(values: Values<Options>, operand: string, around: Surroundings): Promise<Result | null>
}

/**
 * A command: its options, at most one operand, and what it does. `run` gives
 * null when it has already said everything (`serve` prints its own ready line).
 */
export function defineCommand<const O extends Options>(spec: {
  options: O
  operand?: OperandSpec
  run(values: Values<O>, around: Surroundings, operand: string): Promise<Result | null>
}): Command {
  return {
    options: spec.options,
    operand: spec.operand ?? null,
    run: (values, operand, around) => spec.run(values as Values<O>, around, operand),
  }
}

/** The command line itself is wrong: exit code 2. The message names the argument. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command could not do what was asked: exit code 1. The message is for the person who asked. */
export class CommandError extends Error {
  override name = 'CommandError'
}
