import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { dnsQuery } from '../../api/queries.ts'
import { messageOf } from '../../api/request.ts'
import type { Dns } from '../../api/types.ts'
import { TimeText } from '../../parts/time-text.tsx'
import { dnsWords } from './dns-records.ts'

const STATES = {
  'reaches-us': { color: 'paint', label: 'DNS leads here' },
  elsewhere: { color: 'yellow', label: 'DNS leads elsewhere' },
  'no-record': { color: 'yellow', label: 'No DNS record' },
  'not-checked': { color: 'gray', label: 'DNS not checked' },
} as const satisfies Record<Dns['state'], { color: string; label: string }>

/** Where the name of a domain leads at this moment. */
export function DnsBadge({ domain }: { domain: string }) {
  const { data, error } = useQuery(dnsQuery(domain))
  const { color, label } =
    data !== undefined
      ? STATES[data.state]
      : error === null
        ? { color: 'gray', label: 'DNS …' }
        : STATES['not-checked']
  return (
    <Badge variant="light" color={color} tt="none">
      {label}
    </Badge>
  )
}

/** The same in words, asked again while one looks. */
export function DnsState({ domain }: { domain: string }) {
  const dns = useQuery(dnsQuery(domain))
  return (
    <Group justify="space-between" gap="sm" align="start">
      <Stack gap={4} flex={1} miw={200}>
        <Group gap={6}>
          <DnsBadge domain={domain} />
          {dns.data !== undefined && (
            <Text size="xs" className="quiet">
              <TimeText at={dns.data.checked_at} />
            </Text>
          )}
        </Group>
        <Text size="sm" className="break" role="status" mih="1.5em">
          {dns.data !== undefined ? dnsWords(dns.data) : dns.error !== null ? messageOf(dns.error) : ''}
        </Text>
      </Stack>
      <Button size="xs" variant="default" loading={dns.isFetching} onClick={() => dns.refetch()}>
        Look again
      </Button>
    </Group>
  )
}
