import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

import { messageOf } from '../api/request.ts'

/** As high as what comes, so that nothing jumps. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={52} />
      ))}
    </Stack>
  )
}

/** What could not be read, why, and a way to try again. */
export function Trouble({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <Alert color="red" title="This could not be loaded" role="alert">
      <Group justify="space-between">
        <Text size="sm">{messageOf(error)}</Text>
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  )
}

/** What is not there yet, what it would be good for, and the next step. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string
  children: ReactNode
  action?: ReactNode
}) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text className="quiet" maw={460}>
        {children}
      </Text>
      {action}
    </Stack>
  )
}

/** Why a form was not accepted. */
export function Refusal({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  return (
    <Alert color="red" role="alert" p="sm">
      {messageOf(error)}
    </Alert>
  )
}
