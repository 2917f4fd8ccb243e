import { Alert, Anchor, Button, Group, List, Skeleton, Stack, Text, Title } from '@mantine/core'
import IconInbox from '@tabler/icons-react/dist/esm/icons/IconInbox.mjs'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiError, placeInWords } from '../api/api-error.ts'
import { isDatabaseAway } from '../api/database-state.ts'
import { messageOf } from '../api/request.ts'
import { ROUTES } from '../route-map.ts'
import { Page } from './page.tsx'

type Query<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown }

/** Until `query` has data, shows a placeholder of `rows` rows or `loading`, or the error with a retry button. */
export function Loaded<Data>(props: {
  query: Query<Data>
  rows?: number
  loading?: ReactNode
  children: (data: Data) => ReactNode
}) {
  const { query, rows = 4, loading = <Loading rows={rows} /> } = props
  if (query.data !== undefined) return props.children(query.data)
  return query.error === null ? loading : <Trouble query={query} />
}

/** A placeholder that is as high as the content will be, so that nothing jumps. It is seen after 200 ms only. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading" className="late">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={52} />
      ))}
    </Stack>
  )
}

export function Trouble({
  query: { error, refetch },
}: {
  query: { error: unknown; refetch: () => unknown }
}) {
  // The banner says it once, for all parts of the screen.
  if (isDatabaseAway(error)) return <Loading rows={1} />
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

/** Says that a list has nothing for its filter, in the words of the filter, and clears it. */
export function NothingFound(props: {
  title: string
  /** What the button says. */
  all: string
  onClear: () => void
  children?: ReactNode
}) {
  return (
    <Empty
      title={props.title}
      action={
        <Button variant="default" onClick={props.onClear}>
          {props.all}
        </Button>
      }
    >
      {props.children}
    </Empty>
  )
}

export function Empty(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <IconInbox size={24} stroke={1.75} className="quiet" aria-hidden />
      <Title order={2} size="h4">
        {props.title}
      </Title>
      {props.children !== undefined && (
        <Text className="quiet" maw={460} component="div">
          {props.children}
        </Text>
      )}
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

/** Says why the server refused a form: in one sentence, or for each line of a file. */
export function Refusal({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  const reasons = error instanceof ApiError ? reasonsOf(error) : []
  if (reasons.length === 0) {
    return (
      <Alert color="red" role="alert" p="sm">
        {messageOf(error)}
      </Alert>
    )
  }
  return (
    <Alert color="red" role="alert" p="sm" title="Nothing was saved">
      <List size="sm">
        {reasons.map((reason) => (
          <List.Item key={reason} className="break">
            {reason}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

/** The lines of a file that were refused, or the settings, without the name of the object that they are sent in. */
function reasonsOf({ lines, problems }: ApiError): string[] {
  if (lines.length > 0) return lines.map(({ line, error }) => `Line ${line}: ${error}`)
  if (problems.some(({ path }) => path[0] !== 'settings')) return []
  return problems.map(({ path, message }) => `${placeInWords(path)} ${message}`)
}
