import { parseArgs } from 'node:util'
import type { Config } from '../settings/config.ts'

export type OptionSpec = {
  /** Placeholder in the help; null: the option is a switch. */
  value: string | null
  text: string
  required?: boolean
  many?: boolean
}

type OperandSpec = { name: string; text: string }

export type Result = {
  json: Record<string, unknown>
  /** Printed without `--json`. No trailing line break. */
  text: string
  /** Default 0; 1 if a command worked and found a problem. */
  exitCode?: number
}

export type Surroundings = {
  config: Config
  json: boolean
  say(line: string): void
}

type Options = Readonly<Record<string, OptionSpec>>

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

/** Commands by their full names, such as `key create`. */
export type Commands = Readonly<Record<string, Command>>

/** `run` returns null if it has printed everything (`serve` prints its ready line). */
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

/** Ends the program with exit code 2. The message names the argument. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Ends the program with exit code 1. */
export class CommandError extends Error {
  override name = 'CommandError'
}

type Parsed = { values: Values<Record<string, OptionSpec>>; operand: string; help: boolean }

export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: { value: null, text: 'print one JSON object instead of text' },
  help: { value: null, text: 'show what the command does, and its options' },
}

/** Throws UsageError for an argument that is unknown, repeated, missing or without a value. */
export function parseArguments(command: Command, args: readonly string[]): Parsed {
  const known: Record<string, OptionSpec> = { ...COMMON_OPTIONS, ...command.options }
  const parseOptions: Record<string, { type: 'boolean' | 'string'; short?: string }> = {}
  for (const [name, { value }] of Object.entries(known)) {
    parseOptions[name] = { type: value === null ? 'boolean' : 'string' }
  }
  parseOptions['help'] = { type: 'boolean', short: 'h' }
  const { tokens } = parseArgs({
    args: [...args],
    options: parseOptions,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })

  const given = new Map<string, string[]>()
  const operands: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const spec = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (spec === undefined) {
      const names = Object.keys(known).map((name) => `--${name}`)
      throw new UsageError(`Unknown option ${token.rawName}; this command takes ${names.join(', ')}`)
    }
    if (given.has(token.name) && spec.many !== true) throw new UsageError(`--${token.name} is given twice`)
    if (spec.value === null && token.value !== undefined) {
      throw new UsageError(`--${token.name} takes no value`)
    }
    if (spec.value !== null && (token.value === undefined || token.value === '')) {
      throw new UsageError(`--${token.name} needs a value: --${token.name} ${spec.value}`)
    }
    // `--email --plan pro`: the address was probably forgotten.
    if (token.value?.startsWith('--') && !token.inlineValue) {
      throw new UsageError(
        `--${token.name} needs a value: --${token.name} ${spec.value} (for one that begins with --, write --${token.name}=${token.value})`,
      )
    }
    given.set(token.name, [...(given.get(token.name) ?? []), token.value ?? ''])
  }

  const help = given.has('help')
  if (!help) {
    const missing = Object.entries(command.options)
      .filter(([name, { required }]) => required === true && !given.has(name))
      .map(([name, { value }]) => `--${name} ${value}`)
    if (missing.length > 0) throw new UsageError(`Missing ${missing.join(', ')}`)
    const wanted = command.operand === null ? 0 : 1
    if (operands.length < wanted) throw new UsageError(`Missing ${command.operand?.name}`)
    if (operands.length > wanted) throw new UsageError(`Unexpected argument "${operands[wanted]}"`)
  }

  const values: Record<string, boolean | string | null | readonly string[]> = {}
  for (const [name, { value, many }] of Object.entries(known)) {
    const all = given.get(name) ?? []
    if (value === null) values[name] = all.length > 0
    else if (many === true) values[name] = all
    else values[name] = all[0] ?? null
  }
  return {
    values: values as Values<Record<string, OptionSpec>>,
    operand: operands[0] ?? '',
    help,
  }
}
