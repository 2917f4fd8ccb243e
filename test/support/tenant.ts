import assert from 'node:assert/strict'
import { runJson } from './command-line.ts'
import type { NodeProcess } from './node-process.ts'

/** Creates an account with a key by the command line, as an operator does. */
export async function openAccount(node: NodeProcess, { email, plan }: { email: string; plan: string }) {
  await command(node, email, 'account', 'create', '--plan', plan)
  return { key: await openKey(node, email, 'test') }
}

export async function openKey(node: NodeProcess, email: string, name: string): Promise<string> {
  return String((await command(node, email, 'key', 'create', '--name', name))['key'])
}

async function command(node: NodeProcess, email: string, ...args: string[]) {
  const { code, json } = await runJson([...args, '--email', email], node.settings, '', node.program)
  assert.equal(code, 0, JSON.stringify(json))
  return json
}

export async function callApi(
  node: Pick<NodeProcess, 'api'>,
  key: string,
  { method, path, body }: { method: string; path: string; body?: unknown },
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await fetch(node.api + path, { method, headers, body: JSON.stringify(body) ?? null })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

export async function registerDomain(
  node: NodeProcess,
  key: string,
  { customDomain, originUrl }: { customDomain: string; originUrl: string },
): Promise<void> {
  const body = { custom_domain: customDomain, origin_url: originUrl }
  const answer = await callApi(node, key, { method: 'POST', path: '/api/domains', body })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
}
