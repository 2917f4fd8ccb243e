import { Badge, Button, Table, Text, VisuallyHidden } from '@mantine/core'

import { TimeText } from './time-text.tsx'

type Secret = {
  id: number
  name: string
  hint: string
  state: 'active' | 'expired' | 'revoked'
  created_at: string
  last_used_at: string | null
  expires_at?: string | null
}

/** As the server keeps them. */
const ENDED_KEPT_DAYS = 90

/** API keys or webhook tokens: those that work first. */
export function SecretList<Each extends Secret>(props: {
  secrets: readonly Each[]
  onRevoke: (secret: Each) => void
}) {
  const secrets = props.secrets.toSorted(
    (a, b) => Number(b.state === 'active') - Number(a.state === 'active'),
  )
  return (
    <div className="scroll-x">
      <Table verticalSpacing="sm" horizontalSpacing="md" fz="sm" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Last used</Table.Th>
            <Table.Th>
              <VisuallyHidden>Actions</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {secrets.map((secret) => (
            <Table.Tr key={secret.id}>
              <Table.Td>
                <Text size="sm" fw={500} className="break">
                  {secret.name}
                </Text>
                <Text size="xs" className="quiet" ff="monospace">
                  {secret.hint}…
                </Text>
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color={secret.state === 'active' ? 'paint' : 'gray'} tt="none">
                  {secret.state}
                </Badge>
                {secret.state === 'active' && secret.expires_at != null && (
                  <Text size="xs" className="quiet">
                    ends <TimeText at={secret.expires_at} />
                  </Text>
                )}
              </Table.Td>
              <Table.Td data-label="Last used">
                <TimeText at={secret.last_used_at} />
                <Text size="xs" className="quiet">
                  made <TimeText at={secret.created_at} />
                </Text>
              </Table.Td>
              <Table.Td className="end">
                {secret.state === 'active' && (
                  <Button
                    size="compact-sm"
                    variant="default"
                    onClick={() => props.onRevoke(secret)}
                    aria-label={`Revoke ${secret.name}`}
                  >
                    Revoke
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {secrets.some(({ state }) => state !== 'active') && (
        <Text size="xs" className="quiet" px="md" py="xs">
          Those that were revoked or have expired are listed for {ENDED_KEPT_DAYS} days.
        </Text>
      )}
    </div>
  )
}
