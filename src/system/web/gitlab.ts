/** The one merge request that a GitLab job is for, over GitLab's REST API. */
import { isOid } from '../../names.ts';
import type { Forge, ForgeComment, PullRequest } from '../../ports/web.ts';
import { field } from '../../session/text/parse-object.ts';
import { forgeApi } from './forge-api.ts';

export interface GitlabOptions {
  /** The address of the REST API, and that of the project's pages. */
  api: string;
  page: string;
  /** The project's ID, and the merge request's number in it. */
  project: string;
  request: number;
  token: string;
  signal: AbortSignal;
}

export function gitlabForge({ api, page, project, request, token, signal }: GitlabOptions): Forge {
  const { call, listAll, textAt, numberAt, strange } = forgeApi({
    name: 'GitLab',
    headers: { accept: 'application/json', 'content-type': 'application/json', 'private-token': token },
    signal,
    variables: 'CI_API_V4_URL and CI_PROJECT_ID',
    rights: 'TEDDY_GITLAB_TOKEN needs the scope `api` and the role Reporter in this project. It may also have expired.',
  });
  const at = (number: number) => `${api}/projects/${project}/merge_requests/${number}`;

  function toRequest(value: unknown): PullRequest {
    const [number, head] = [numberAt(value, 'iid'), textAt(value, 'sha')];
    if (!isOid(head)) throw strange('has no commit');
    return {
      number,
      label: `!${number}`,
      ref: `refs/merge-requests/${number}/head`,
      isOpen: field(value, 'state') === 'opened',
      repository: null,
      branch: textAt(value, 'source_branch'),
      head,
      base: textAt(value, 'target_branch'),
    };
  }

  function toNote(value: unknown, number: number): ForgeComment {
    const [id, body] = [numberAt(value, 'id'), textAt(value, 'body')];
    const url = `${page}/-/merge_requests/${number}#note_${id}`;
    return { id, author: textAt(value, 'author', 'username'), body, url };
  }

  const read = async (number: number) => toRequest(await call('GET', at(number)));
  return {
    noun: 'merge request',
    listPullRequests: async () => [await read(request)],
    readPullRequest: read,
    listComments: async (number) => (await listAll(`${at(number)}/notes`)).map((one) => toNote(one, number)),
    ownName: async () => textAt(await call('GET', `${api}/user`), 'username'),
    createComment: async (number, body) => toNote(await call('POST', `${at(number)}/notes`, { body }), number),
    updateComment: async (number, id, body) => toNote(await call('PUT', `${at(number)}/notes/${id}`, { body }), number),
  };
}
