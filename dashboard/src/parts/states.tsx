import { Alert, Anchor, Button, Group, List, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { ApiError, messageOf } from '../api/request.ts'
import { ROUTES } from '../route-map.ts'
import { Page } from './page.tsx'

type Query<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown }

/** Until `query` has data, shows a placeholder of `rows` rows, or the error with a retry button. */
export function Loaded<Data>(props: {
  query: Query<Data>
  rows?: number
  children: (data: Data) => ReactNode
}) {
  const { query, rows = 4 } = props
  if (query.data !== undefined) return props.children(query.data)
  return query.error === null ? <Loading rows={rows} /> : <Trouble query={query} />
}

/** As high as the content will be, so that nothing jumps. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={52} />
      ))}
    </Stack>
  )
}

export function Trouble({ query: { error, refetch } }: { query: Omit<Query<unknown>, 'data'> }) {
  return (
    <Alert color="red" title="This could not be loaded" role="alert">
      <Group justify="space-between">
        <Text size="sm">{messageOf(error)}</Text>
        <Button size="xs" variant="default" onClick={() => refetch()}>
          Try again
        </Button>
      </Group>
    </Alert>
  )
}

export function Empty(props: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <Title order={2} size="h4">
        {props.title}
      </Title>
      <Text className="quiet" maw={460} component="div">
        {props.children}
      </Text>
      {props.action}
    </Stack>
  )
}

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        title="Nothing is here"
        action={
          <Anchor component={Link} href={ROUTES.domains}>
            Go to your domains
          </Anchor>
        }
      >
        The address may be mistyped, or the page it showed was removed.
      </Empty>
    </Page>
  )
}

export function Refusal({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  const lines = error instanceof ApiError ? error.lines : []
  return (
    <Alert color="red" role="alert" p="sm" {...(lines.length > 0 && { title: 'Nothing was saved' })}>
      {lines.length === 0 ? (
        messageOf(error)
      ) : (
        <List size="sm">
          {lines.map(({ line, error: why }) => (
            <List.Item key={line} className="break">
              Line {line}: {why}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}
