import type { Queryable } from '../db/transaction.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { deletePages } from '../pages/delete-pages.ts'
import { enqueue } from './enqueue.ts'

/**
 * Deletes what is stored under these paths and queues a render of each, one
 * job for each path in the order given; `client` is inside a transaction, so
 * that it is both or neither. Throws `queue_full`. The domain id was obtained
 * through its account.
 */
export async function refreshPages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  await deletePages(client, domain, paths)
  return enqueue(client, domain, paths, 'refresh')
}
