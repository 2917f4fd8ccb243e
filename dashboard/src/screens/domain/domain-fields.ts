import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'

import { ApiError, request } from '../../api/request.ts'
import type { DomainCheck } from '../../api/types.ts'

/** A first check while typing; the server decides. null: valid. */
export function domainProblem(raw: string): string | null {
  const name = raw.trim()
  if (name === '') return 'Enter the name that visitors use, such as www.example.com'
  if (/^[a-z]+:\/\//i.test(name)) return 'Enter only the name, without https://'
  if (/[/?#\s@:]/.test(name)) return 'Enter only the name, without path, port or spaces'
  const ascii = asciiName(name)
  if (ascii === null) return 'This is not a domain name'
  if (/^[\d.]+$/.test(ascii)) return 'Enter a name, not an IP address'
  if (!ascii.includes('.')) return 'Enter the full name, such as www.example.com'
  return null
}

/** Lower case and punycode, as the server stores it; null: not a name. */
export function asciiName(name: string): string | null {
  return URL.canParse(`https://${name.trim()}`)
    ? new URL(`https://${name.trim()}`).hostname.replace(/\.$/, '')
    : null
}

export function originProblem(raw: string, domain: string): string | null {
  const text = raw.trim()
  if (text === '') return 'Enter the URL of the server of your site, such as https://shop.hosting.example'
  if (!/^https?:\/\//i.test(text)) return 'Begin with https:// or http://'
  if (!URL.canParse(text)) return 'This is not a URL'
  const { hostname, pathname, search, hash, username } = new URL(text)
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '') {
    return 'Enter only scheme, host and port, without a path'
  }
  if (hostname === asciiName(domain)) {
    return 'This is the domain itself. The origin needs another name, because the DNS of the domain will point here'
  }
  return null
}

type Field = 'custom_domain' | 'origin_url'

type FieldCheck = { isGood: boolean; text: string }

const TYPING_MS = 500

/** The server's check, half a second after the last key. */
export function useDomainCheck(field: Field, typed: string, isComplete: boolean) {
  const [value] = useDebouncedValue(typed.trim(), TYPING_MS)
  const isChecked = isComplete && value !== '' && value === typed.trim()
  const check = useQuery({
    queryKey: ['domain-check', field, value],
    queryFn: ({ signal }) =>
      request<DomainCheck>('POST', '/api/domains/check', { body: { [field]: value }, signal }),
    enabled: isChecked,
    staleTime: 10_000,
    retry: false,
    refetchInterval: false,
  })
  const finding =
    check.data !== undefined
      ? fieldCheckOf(field, check.data)
      : check.error instanceof ApiError && check.error.status === 429
        ? { isGood: true, text: check.error.message }
        : null
  return {
    isChecking: isComplete && typed.trim() !== '' && (!isChecked || check.isFetching),
    finding: isChecked ? finding : null,
  }
}

/** null: this field was not checked. */
function fieldCheckOf(field: Field, check: DomainCheck): FieldCheck | null {
  if (field === 'custom_domain') {
    const { name, problem } = check.custom_domain ?? { name: null, problem: null }
    if (problem !== null) return { isGood: false, text: `The name ${problem}` }
    return name === null ? null : { isGood: true, text: `${name} is available` }
  }
  const found = check.origin_url
  if (found === null) return null
  if (found.problem !== null) return { isGood: false, text: `The URL ${found.problem}` }
  if (found.warning !== null)
    return { isGood: false, text: `You can add it, but at the moment ${found.warning}` }
  return found.status !== null && found.status >= 400
    ? { isGood: false, text: `You can add it, but it responds with status ${found.status}` }
    : { isGood: true, text: `It responds with status ${found.status}` }
}
