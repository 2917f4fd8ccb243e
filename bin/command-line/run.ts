import { AppError, publicError } from '@prepaint/contract/errors.ts'
import manifest from '../../package.json' with { type: 'json' }
import { COMMANDS } from '../cli/commands.ts'
import { ConfigError, loadConfig } from '../settings/config.ts'
import {
  COMMON_OPTIONS,
  type Command,
  CommandError,
  parseArguments,
  type Result,
  UsageError,
} from './command.ts'
import { fields } from './output.ts'

const HELP: readonly string[] = ['help', '--help', '-h']

/** Never rejects. Returns null if the command has printed everything. Tests give an `environment`. */
export async function runCommandLine(
  args: readonly string[],
  environment?: Record<string, string>,
): Promise<Result | null> {
  const json = args.includes('--json')
  try {
    return await run(args, { json, environment })
  } catch (error) {
    return failure(error, json)
  }
}

async function run(
  args: readonly string[],
  { json, environment }: { json: boolean; environment: Record<string, string> | undefined },
): Promise<Result | null> {
  // Help and version work even with malformed settings.
  const words = args.filter((arg) => arg !== '--json')
  const [first = '', second] = words
  if (words.length === 0 || (HELP.includes(first) && second === undefined)) {
    return helpResult(generalHelp(manifest.version))
  }
  if (first === '--version') return { json: { version: manifest.version }, text: manifest.version }
  if (second !== undefined && HELP.includes(second) && groupHelp(first) !== '') {
    return helpResult(groupHelp(first))
  }

  const { name, rest } = commandNamed(first === 'help' ? [...words.slice(1), '--help'] : args)
  const command = await COMMANDS[name]!.load()
  const { values, operand, help } = parseArguments(command, rest)
  if (help) return helpResult(commandHelp(name, command))
  return command.run(values, operand, {
    config: loadConfig(environment),
    json,
    say: (line) => process.stderr.write(`${line}\n`),
  })
}

function helpResult(text: string): Result {
  return { json: { help: text }, text }
}

function commandNamed(words: readonly string[]): { name: string; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    if (Object.hasOwn(COMMANDS, name)) return { name, rest: words.slice(length) }
  }
  const [first = '', second] = words
  const group = groupHelp(first)
  if (group === '') throw new UsageError(`Unknown command "${first}". "prepaint --help" lists all commands`)
  const wrong = second === undefined || second.startsWith('-') ? '' : `Unknown command "${first} ${second}". `
  throw new UsageError(`${wrong}The commands of "${first}":\n${group}`)
}

function failure(error: unknown, json: boolean): Result {
  const exitCode = error instanceof UsageError ? 2 : 1
  // The API also says where a problem is; commands promise the text alone.
  const text = error instanceof AppError ? publicError(error).body.error : errorText(error)
  if (!json) process.stderr.write(`prepaint: ${text}\n`)
  return { json: { error: text }, text: '', exitCode }
}

function errorText(error: unknown): string {
  if (error instanceof UsageError || error instanceof CommandError) return error.message
  if (error instanceof ConfigError) return `settings: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}

function generalHelp(version: string): string {
  return [
    `prepaint ${version}: visitors get the site, crawlers get finished HTML`,
    '',
    'Usage: prepaint <command> [options]',
    '',
    indented(fields(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]))),
    '',
    'Every command takes --help and --json. Settings are environment variables: see docs/configuration.md.',
  ].join('\n')
}

function groupHelp(word: string): string {
  const group = Object.entries(COMMANDS).filter(([name]) => name.startsWith(`${word} `))
  return group.length === 0 ? '' : indented(fields(group.map(([name, { summary }]) => [name, summary])))
}

export function commandHelp(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS })
  const withValue = (option: string, value: string | null) =>
    value === null ? `--${option}` : `--${option} ${value}`
  const usage = Object.entries(command.options).map(
    ([option, { value, required, many }]) =>
      (required === true ? withValue(option, value) : `[${withValue(option, value)}]`) +
      (many === true ? ' ...' : ''),
  )
  const operand = command.operand === null ? [] : [command.operand.name]
  const listed: [name: string, text: string][] = []
  if (command.operand !== null) listed.push([command.operand.name, command.operand.text])
  for (const [option, { value, text }] of options) listed.push([withValue(option, value), text])
  return [
    `Usage: prepaint ${[name, ...operand, ...usage].join(' ')}`,
    '',
    `${COMMANDS[name]?.summary ?? ''}.`,
    '',
    indented(fields(listed)),
  ].join('\n')
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
