import assert from 'node:assert/strict'

import { runJson } from './command-line.ts'
import type { NodeProcess } from './node-process.ts'

/** Creates an account with a key by the command line, as an operator does. */
export async function openAccount(
  node: NodeProcess,
  account: { email: string; plan: string },
): Promise<{ key: string }> {
  const { email, plan } = account
  const created = await runJson(['account', 'create', '--email', email, '--plan', plan], node.settings)
  assert.equal(created.code, 0, JSON.stringify(created.json))
  return { key: await openKey(node, email, 'test') }
}

export async function openKey(node: NodeProcess, email: string, name: string): Promise<string> {
  const { code, json } = await runJson(['key', 'create', '--email', email, '--name', name], node.settings)
  assert.equal(code, 0, JSON.stringify(json))
  return String(json['key'])
}

export async function callApi(
  node: Pick<NodeProcess, 'api'>,
  key: string,
  call: { method: string; path: string; body?: unknown },
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { method, path, body } = call
  const answer = await fetch(node.api + path, {
    method,
    headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

export async function registerDomain(
  node: NodeProcess,
  key: string,
  domain: { customDomain: string; originUrl: string },
): Promise<void> {
  const body = { custom_domain: domain.customDomain, origin_url: domain.originUrl }
  const answer = await callApi(node, key, { method: 'POST', path: '/api/domains', body })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
}
