import dgram from 'node:dgram'
import { once } from 'node:events'

/** PTR records by address, addresses by name, others by `TXT <name>` and `CNAME <name>`; `fails`: the server reports an error. */
export type Zone = Record<string, readonly string[] | 'fails'>

const TYPES = { 1: 'A', 5: 'CNAME', 12: 'PTR', 16: 'TXT', 28: 'AAAA' } as const

/** A name server on loopback. PTR records are keyed by address; `asked` lists the questions. */
export async function startNameServer(t: { after(end: () => unknown): void }, zone: Zone) {
  const asked: string[] = []
  const socket = dgram.createSocket('udp4')
  socket.on('message', (question, from) => {
    const { name, type, end } = readQuestion(question)
    const kind = TYPES[type as keyof typeof TYPES]
    asked.push(`${kind} ${name}`)
    const held = zone[keyOf(kind, name)]
    const records = held === undefined || held === 'fails' ? [] : held
    const data = records
      .filter((value) => !isAddressKind(kind) || value.includes(':') === (kind === 'AAAA'))
      .map((value) => record(type, dataOf(kind, value)))
    const head = Buffer.from(question.subarray(0, end))
    // RFC 1035, section 4.1.1: no error, server failure, no such name.
    head.writeUInt16BE(held === 'fails' ? 0x8182 : held === undefined ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(data.length, 6)
    head.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([head, ...data]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { server: `127.0.0.1:${socket.address().port}`, zone, asked }
}

type Kind = (typeof TYPES)[keyof typeof TYPES]

function isAddressKind(kind: Kind): boolean {
  return kind === 'A' || kind === 'AAAA'
}

function keyOf(kind: Kind, name: string): string {
  if (kind === 'TXT' || kind === 'CNAME') return `${kind} ${name}`
  return kind === 'PTR' ? addressOf(name) : name
}

function dataOf(kind: Kind, value: string): Buffer {
  if (kind === 'TXT') return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)])
  return isAddressKind(kind) ? addressBytes(value) : labels(value)
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const parts: string[] = []
  let at = 12
  while (message[at] !== 0) {
    parts.push(message.toString('ascii', at + 1, at + 1 + message[at]!))
    at += 1 + message[at]!
  }
  return { name: parts.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** Of `4.3.2.1.in-addr.arpa`, or 32 nibbles and `ip6.arpa`. */
function addressOf(name: string): string {
  const parts = name.split('.').slice(0, -2).reverse()
  if (name.endsWith('.in-addr.arpa')) return parts.join('.')
  return (parts.join('').match(/.{4}/g) ?? []).join(':')
}

function record(type: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data])
}

function labels(name: string): Buffer {
  const parts = name.split(/(?<!\\)\./).map((label) => label.replaceAll('\\', ''))
  return Buffer.from(`${parts.map((label) => String.fromCharCode(label.length) + label).join('')}\0`)
}

function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const groups = address.split(':').map((group) => group.padStart(4, '0'))
  return Buffer.from(groups.join(''), 'hex')
}
