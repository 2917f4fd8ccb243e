import { parseArgs } from 'node:util'

import { type Command, type OptionSpec, UsageError, type Values } from './command.ts'

export type Parsed = { values: Values<Record<string, OptionSpec>>; operand: string; help: boolean }

/** Every command takes these. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: { value: null, text: 'print one JSON object instead of text' },
  help: { value: null, text: 'say what the command does and takes' },
}

/**
 * Reads the arguments that follow a command's name. Throws a UsageError that
 * names the argument: unknown, given twice, without its value, missing.
 */
export function parseArguments(command: Command, args: readonly string[]): Parsed {
  const known: Record<string, OptionSpec> = { ...COMMON_OPTIONS, ...command.options }
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(known).map(([name, { value }]) => [
        name,
        {
          type: value === null ? ('boolean' as const) : ('string' as const),
          ...(name === 'help' && { short: 'h' }),
        },
      ]),
    ),
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
    // `--email --plan pro`: more likely a forgotten address than one that begins with dashes.
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

  const values = Object.entries(known).map(([name, { value, many }]) => {
    const all = given.get(name) ?? []
    return [name, value === null ? all.length > 0 : many === true ? all : (all[0] ?? null)]
  })
  return {
    values: Object.fromEntries(values) as Values<Record<string, OptionSpec>>,
    operand: operands[0] ?? '',
    help,
  }
}
