import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the types of `kubernetes-models` say of a value. */
type Shape =
  | { kind: 'any' }
  | { kind: 'object'; members: ReadonlyMap<string, Shape>; others: Shape | null }
  | { kind: 'list'; of: Shape }
  | { kind: 'named'; name: string; file: string }

const ANY: Shape = { kind: 'any' }
const TOKEN = /\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"|[\w$.]+|[{}[\]<>():;,|?=&]/g

/** Reads one interface of a file of declarations. */
class Declarations {
  readonly #file: string
  readonly #imports: ReadonlyMap<string, string>
  readonly #text: string
  #tokens: string[] = []
  #at = 0

  constructor(file: string) {
    this.#file = file
    this.#text = readFileSync(file, 'utf8')
    const imports = [...this.#text.matchAll(/^import \{ (.+?) \} from "(.+?)";$/gm)]
    this.#imports = new Map(
      imports.flatMap(([, names, from]) => names!.split(', ').map((name) => [name, from!] as const)),
    )
  }

  /** The shape of the interface that the file is about. */
  main(): Shape {
    const body = /^export interface \w+[^{]*(\{[\s\S]*?^\})/m.exec(this.#text)?.[1]
    // An alias, such as that of a quantity.
    if (body === undefined) return ANY
    this.#tokens = body.match(TOKEN)!.filter((token) => !token.startsWith('/*'))
    this.#at = 0
    return this.#type()
  }

  #take(expected?: string): string {
    const token = this.#tokens[this.#at++]
    if (token === undefined || (expected !== undefined && token !== expected)) {
      throw new Error(`${this.#file}: ${expected ?? 'a token'} expected, not ${token}`)
    }
    return token
  }

  #type(): Shape {
    const first = this.#one()
    let isUnion = false
    while (this.#tokens[this.#at] === '|') {
      this.#at++
      this.#one()
      isUnion = true
    }
    return isUnion && first.kind !== 'object' ? ANY : first
  }

  #one(): Shape {
    const token = this.#take()
    if (token === '{') return this.#object()
    if (token === 'Array') {
      this.#take('<')
      const of = this.#type()
      this.#take('>')
      return { kind: 'list', of }
    }
    const from = this.#imports.get(token)
    return from === undefined ? ANY : { kind: 'named', name: token, file: this.#resolve(from) }
  }

  #object(): Shape {
    const members = new Map<string, Shape>()
    let others: Shape | null = null
    while (this.#tokens[this.#at] !== '}') {
      const name = this.#take()
      if (name === '[') {
        while (this.#take() !== ']');
        this.#take(':')
        others = this.#type()
      } else {
        if (this.#tokens[this.#at] === '?') this.#at++
        this.#take(':')
        members.set(name.replaceAll('"', ''), this.#type())
      }
      this.#take(';')
    }
    this.#take('}')
    return { kind: 'object', members, others }
  }

  #resolve(from: string): string {
    const js = from.startsWith('.')
      ? path.resolve(path.dirname(this.#file), from)
      : fileURLToPath(import.meta.resolve(from))
    return js.replace(/\.js$/, '.d.ts')
  }
}

const shapes = new Map<string, Shape>()

function shapeOf(file: string): Shape {
  const known = shapes.get(file) ?? new Declarations(file).main()
  shapes.set(file, known)
  return known
}

/** Names in an object that its kind does not have. `model`: a module such as `kubernetes-models/v1/Service`. */
export function unknownNames(model: string, value: unknown): string[] {
  return walk(shapeOf(fileURLToPath(import.meta.resolve(model)).replace(/\.js$/, '.d.ts')), value, '')
}

function walk(shape: Shape, value: unknown, where: string): string[] {
  if (shape.kind === 'named') return walk(shapeOf(shape.file), value, where)
  if (shape.kind === 'list' && Array.isArray(value)) {
    return value.flatMap((each, at) => walk(shape.of, each, `${where}[${at}]`))
  }
  if (shape.kind !== 'object' || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => {
    const member = shape.members.get(name) ?? shape.others
    return member === null ? [`${where}.${name}`] : walk(member, each, `${where}.${name}`)
  })
}
