/** Jobs: task records on KV with claims, leases and fencing (document 003; KV-7). */

export type JobState = 'pending' | 'claimed' | 'running' | 'completed' | 'failed' | 'cancelled';

/** The fields of a task record, by the names the specification gives them. */
export interface JobFields {
  state: JobState;
  task_type: string;
  task_id: string;
  worker?: string;
  claim_id?: string;
  current_step?: number;
  step_count?: number;
  created_at: number;
  updated_at: number;
  timeout_at?: number;
  retry_count?: number;
  max_retries?: number;
  error?: string;
  params_ref?: string;
  result_ref?: string;
}
