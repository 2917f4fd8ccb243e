import { COMMON_OPTIONS } from './arguments.ts'
import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { fields } from './table.ts'

/** All commands, one line each. */
export function generalHelp(version: string): string {
  return [
    `prepaint ${version}: people get the site, crawlers get finished HTML`,
    '',
    'Usage: prepaint <command> [options]',
    '',
    indented(fields(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]))),
    '',
    'Every command takes --help and --json. Settings are environment variables: see README.md.',
  ].join('\n')
}

/** The commands that begin with one word, such as `account`; empty when there are none. */
export function groupHelp(word: string): string {
  const group = Object.entries(COMMANDS).filter(([name]) => name.startsWith(`${word} `))
  return group.length === 0 ? '' : indented(fields(group.map(([name, { summary }]) => [name, summary])))
}

export function commandHelp(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS })
  const spelt = (option: string, value: string | null) =>
    value === null ? `--${option}` : `--${option} ${value}`
  const usage = Object.entries(command.options).map(
    ([option, { value, required, many }]) =>
      (required === true ? spelt(option, value) : `[${spelt(option, value)}]`) +
      (many === true ? ' ...' : ''),
  )
  const operand = command.operand === null ? [] : [command.operand.name]
  return [
    `Usage: prepaint ${[name, ...operand, ...usage].join(' ')}`,
    '',
    `${COMMANDS[name]?.summary ?? ''}.`,
    '',
    indented(
      fields([
        ...(command.operand === null ? [] : [[command.operand.name, command.operand.text] as const]),
        ...options.map(([option, { value, text }]) => [spelt(option, value), text] as const),
      ]),
    ),
  ].join('\n')
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
